"""Values at, inside and beyond the ranges of arguments, out of a model's JSON schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schema itself, or the alternatives that it names."""
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return [part for other in schema[word] for part in parts(other)]
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return [schema]


def is_scalar(schema: Mapping[str, Any]) -> bool:
    """Numbers and words must be said; a series or a table may be left to other readers."""
    kinds = {part.get("type", "object") for part in parts(schema)} - {"null"}
    return bool(kinds) and kinds <= {"number", "integer", "string", "boolean"}


def _limits(part: Mapping[str, Any]) -> tuple[float | None, float | None, float]:
    """Lowest and highest value, and the step beyond them."""
    whole = part.get("type") == "integer"
    low, high = part.get("minimum"), part.get("maximum")
    step = 1.0 if whole else 1e-6
    if low is None and "exclusiveMinimum" in part:
        low = part["exclusiveMinimum"] + step
    if high is None and "exclusiveMaximum" in part:
        high = part["exclusiveMaximum"] - step
    return low, high, step


def values_within(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The ends and the middle of a range, every word of an enumeration."""
    for part in parts(schema):
        if "enum" in part or "const" in part:
            yield from part.get("enum", [part.get("const")])
        elif part.get("type") == "boolean":
            yield from (False, True)
        elif part.get("type") in ("number", "integer"):
            low, high, _ = _limits(part)
            middle = [] if low is None or high is None else [(low + high) / 2]
            kept = [value for value in (low, *middle, high) if value is not None]
            cast: Callable[[float], float] = int if part["type"] == "integer" else float
            yield from (cast(value) for value in kept)


def values_outside(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Numbers just beyond a range, and one that is not a number."""
    numbers = [part for part in parts(schema) if part.get("type") in ("number", "integer")]
    if len(numbers) != 1:
        return
    low, high, step = _limits(numbers[0])
    beyond = 1.0 if step == 1.0 else 1e-3
    if low is not None:
        yield low - beyond
    if high is not None:
        yield high + beyond
    yield math.nan
