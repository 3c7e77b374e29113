"""Facts of JSON inside a text, read by the names of its keys (published evidence)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from simulrag.statements.fact import OF_UNIT, RENAMED, Fact
from simulrag.statements.quantities import Quantity, quantities
from simulrag.statements.subjects import subjects

_SUFFIX_UNITS = {
    "s": "s",
    "mg": "mg",
    "ml": "ml",
    "m": "m",
    "pct": "percent",
    "percent": "percent",
    "percentage": "percent",
    "degc": "degc",
    "weeks": "weeks",
}


def json_part(text: str) -> tuple[str, object | None, str]:
    """A text as (prose before, the JSON object or None, prose behind)."""
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            return text[:start], json.loads(text[start : end + 1]), text[end + 1 :]
        except json.JSONDecodeError:
            return text, None, ""
    return text, None, ""


def keyed_facts(blob: object) -> Iterator[Fact]:
    """One fact a number or date whose key names a known subject."""
    for path, value in _leaves(blob, ()):
        words = " ".join(path).replace("_", " ")
        unit = next((_SUFFIX_UNITS[w] for w in reversed(words.split()) if w in _SUFFIX_UNITS), "")
        item = _leaf_quantity(value, unit)
        if item is None:
            continue
        subject = _json_subject(words, item.unit)
        if subject is None:
            continue
        role = "level"
        if "baseline" in words:
            role = "baseline"
        elif "scenario" in words:
            role = "scenario"
        elif item.unit == "percent":
            role = "change"
        if re.search(r"\bci\b|\blower\b|\bupper\b|interval", words):
            subject, role = "interval", "upper" if re.search(r"upper|\b1$", words) else "lower"
        name = f"{words}: {value}"
        yield Fact(subject, role, item.value, True, frozenset(), frozenset(), item, name)


def _leaves(node: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, (*path, str(key)))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _leaves(value, (*path, str(index)))
    else:
        yield path, node


def _leaf_quantity(value: object, unit: str) -> Quantity | None:
    text = str(value)
    if isinstance(value, bool) or value is None:
        return None
    numbers = quantities(text)
    if len(numbers) != 1 or (numbers[0].end - numbers[0].start) != len(text.strip()):
        return None
    item = numbers[0]
    if item.unit == "date":
        return item
    return replace(item, unit=unit)


def _json_subject(words: str, unit: str) -> str | None:
    named = {RENAMED.get((unit, name), name) for name in subjects(words)}
    for candidate in OF_UNIT.get(unit, ()):
        subject = RENAMED.get((unit, candidate), candidate)
        if subject in named:
            return subject
    return None
