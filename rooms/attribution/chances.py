"""The chance that a claim holds, given a part of the evidence, and the parts that there are.

Every simulator run is an item of the evidence, and so is every passage of a document.

Two ways, never mixed in one table. ``verdicts``: the verification step judges the claim against
that part: aligned is 1, contradicted 0 and silent 0.5; nothing shown is silent, without a call.
``stated``: the model states a number, ``repeats`` times, averaged. A third way of the literature,
the probability of a first token, is not offered: not every provider tells it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from rooms.attribution.settings import Kind
from simulrag.method.asking import ask_in_batches, together
from simulrag.method.verification import VerbalizedBatch, verify_claims
from simulrag.models.base import Asker
from simulrag.records import DOCUMENT_TOOL, Evidence, Record, Verdict
from simulrag.task import Task


class Item(Record):
    """One piece of evidence. ``evidence``: the index of what it belongs to; ``key`` names it."""

    kind: Literal["simulation", "passage"]
    key: str
    text: str
    evidence: int


def is_document(evidence: Evidence) -> bool:
    """Return whether evidence is out of documents."""
    return evidence.call.tool == DOCUMENT_TOOL


def items_of(evidence: Sequence[Evidence]) -> tuple[Item, ...]:
    """Return the items in the order of the evidence; a passage found twice is two items."""
    return tuple(item for at, piece in enumerate(evidence) for item in _items(at, piece))


def context_of(evidence: Sequence[Evidence], items: Sequence[Item], shown: frozenset[int]) -> str:
    """Return the text with only the items at the indices ``shown``; with all, the retrieval's own.

    Evidence of which every item is shown keeps its own wording, so that a verdict on the whole
    context, which was paid for before, is a verdict on all items.
    """
    parts: list[str] = []
    for at, piece in enumerate(evidence):
        own = [i for i, item in enumerate(items) if item.evidence == at]
        chosen = [i for i in own if i in shown]
        if chosen and len(chosen) == len(own):
            parts.append(piece.text)
        else:
            parts += [items[i].text for i in chosen]
    return "\n\n".join(parts)


def _items(at: int, evidence: Evidence) -> list[Item]:
    name = f"{evidence.simulator}.{evidence.call.tool}#{at}"
    if not is_document(evidence):
        return [Item(kind="simulation", key=name, text=evidence.text, evidence=at)]
    passages = evidence.outputs.get("passages")
    texts = [_passage(passage) for passage in passages] if isinstance(passages, list) else []
    if not texts or not all(texts):
        return [Item(kind="passage", key=name, text=evidence.text, evidence=at)]
    return [
        Item(kind="passage", key=f"{name}.{number}", text=text, evidence=at)
        for number, text in enumerate(texts)
    ]


def _passage(value: JsonValue) -> str:
    """Return a passage's text after where it stands; "" where it has none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return ""
    where = [value[name] for name in ("document", "title", "locator") if value.get(name)]
    head = ", ".join(dict.fromkeys(str(word) for word in where))
    text = str(value["text"])
    return f"{head}:\n{text}" if head else text


CHANCE_SHOWN = Task("chance_shown", VerbalizedBatch, tokens=300)

SILENT = 0.5
_MEANS = {"aligned": 1.0, "contradicted": 0.0, "indeterminate": SILENT}


@dataclass(frozen=True)
class ChanceEstimate:
    """A chance, or None with the reason why there is none."""

    chance: float | None
    reason: str = ""


class Chances:
    """Chances of a question's claims by the context that is shown; each is asked for once.

    ``known``: verdicts made before, by context, a claim each (None: not verified). Calls raise
    ModelError as verification does.
    """

    def __init__(
        self,
        question: str,
        claims: Sequence[str],
        ask: Asker,
        *,
        kind: Kind = "verdicts",
        claims_per_call: int = 20,
        repeats: int = 2,
        known: Mapping[str, Sequence[Verdict | None]] | None = None,
    ) -> None:
        self._question = question
        self._claims = list(claims)
        self._ask = ask
        self._kind = kind
        self._claims_per_call = claims_per_call
        self._repeats = repeats
        self._known = known or {}
        self._estimates: dict[str, list[ChanceEstimate]] = {}

    async def prepare(self, contexts: Iterable[str]) -> None:
        """Ask for all claims in each of the contexts."""
        new = [context for context in dict.fromkeys(contexts) if context not in self._estimates]
        estimates = await together(self._of(context) for context in new)
        self._estimates.update(zip(new, estimates, strict=True))

    def of(self, context: str, claim: int) -> ChanceEstimate:
        """Return the chance of a claim in a context that was prepared."""
        return self._estimates[context][claim]

    async def _of(self, context: str) -> list[ChanceEstimate]:
        if self._kind == "stated":
            return await self._stated(context)
        if not context:
            return [ChanceEstimate(SILENT)] * len(self._claims)
        known = list(self._known.get(context, [None] * len(self._claims)))
        asked = [i for i, verdict in enumerate(known) if verdict is None]
        verdicts = await verify_claims(
            self._question,
            [self._claims[i] for i in asked],
            context,
            self._ask,
            claims_per_call=self._claims_per_call,
        )
        for i, verdict in zip(asked, verdicts, strict=True):
            known[i] = verdict
        return [chance_of(verdict) for verdict in known if verdict is not None]

    async def _stated(self, context: str) -> list[ChanceEstimate]:
        rounds = await together(
            ask_in_batches(
                CHANCE_SHOWN,
                self._claims,
                self._ask,
                claims_per_call=self._claims_per_call,
                sample_index=index,
                question=self._question,
                context=context,
            )
            for index in range(self._repeats)
        )
        return [
            ChanceEstimate(math.fsum(reply.probability for reply in replies) / self._repeats)
            for replies in zip(*rounds, strict=True)
        ]


def chance_of(verdict: Verdict) -> ChanceEstimate:
    """Return the chance that a verdict gives a claim; an error gives none."""
    if verdict.status == "error":
        return ChanceEstimate(None, verdict.reason or "verification failed")
    return ChanceEstimate(_MEANS[verdict.status])
