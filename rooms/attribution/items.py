"""Evidence as items: every simulator run is one, every passage of a document is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

from simulrag.records import DOCUMENT_TOOL, Evidence, Record


class Item(Record):
    """One piece of evidence. ``evidence``: the index of what it belongs to; ``key`` names it."""

    kind: Literal["simulation", "passage"]
    key: str
    text: str
    evidence: int


def is_document(evidence: Evidence) -> bool:
    """Whether evidence is out of documents."""
    return evidence.call.tool == DOCUMENT_TOOL


def items_of(evidence: Sequence[Evidence]) -> tuple[Item, ...]:
    """The items in the order of the evidence; a passage found twice is two items."""
    return tuple(item for at, one in enumerate(evidence) for item in _items(at, one))


def context_of(evidence: Sequence[Evidence], items: Sequence[Item], shown: frozenset[int]) -> str:
    """The text with only the items at the indices ``shown``; with all, the retrieval's own.

    Evidence of which every item is shown keeps its own wording, so that a verdict on the whole
    context, which was paid for before, is a verdict on all items.
    """
    parts: list[str] = []
    for at, one in enumerate(evidence):
        own = [i for i, item in enumerate(items) if item.evidence == at]
        chosen = [i for i in own if i in shown]
        if chosen and len(chosen) == len(own):
            parts.append(one.text)
        else:
            parts += [items[i].text for i in chosen]
    return "\n\n".join(parts)


def _items(at: int, evidence: Evidence) -> list[Item]:
    name = f"{evidence.simulator}.{evidence.call.tool}#{at}"
    if not is_document(evidence):
        return [Item(kind="simulation", key=name, text=evidence.text, evidence=at)]
    passages = evidence.outputs.get("passages")
    told = [_passage(one) for one in passages] if isinstance(passages, list) else []
    if not told or not all(told):
        return [Item(kind="passage", key=name, text=evidence.text, evidence=at)]
    return [
        Item(kind="passage", key=f"{name}.{number}", text=text, evidence=at)
        for number, text in enumerate(told)
    ]


def _passage(value: JsonValue) -> str:
    """A passage's text after where it stands; "" where it has none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return ""
    where = [value[name] for name in ("document", "title", "locator") if value.get(name)]
    head = ", ".join(dict.fromkeys(str(word) for word in where))
    text = str(value["text"])
    return f"{head}:\n{text}" if head else text
