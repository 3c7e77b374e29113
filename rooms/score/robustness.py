"""Whether an answer stays when its question is only worded anew, and moves when that changes.

Claims are compared as they were read (``reading``): numbers as numbers, each at its own rounding
and in its own unit, signs aside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rooms.score.reading import ClaimReading, StatedRange, stated_range
from simulrag.records import Evidence, ToolCall

_SIGNS = {"rises": 1, "falls": -1, "same": 0}


def same_calls(one: Sequence[ToolCall], two: Sequence[ToolCall]) -> bool:
    """Whether two answers rest on the same tool calls, in any order."""
    left = list(two)
    for call in one:
        if call not in left:
            return False
        left.remove(call)
    return not left


def same_claims(one: Sequence[ClaimReading], two: Sequence[ClaimReading]) -> float | None:
    """Of the numbers, directions and classes that two answers give, the share the other repeats.

    Both were read against the runs of the first question. A claim about no listed output is not
    compared; None where nothing was said of any.
    """
    repeated: list[bool] = []
    for claims, others in ((one, two), (two, one)):
        for claim in claims:
            told = [_said(other) for other in others if _same(other, claim)]
            for kind, what in _said(claim).items():
                repeated.append(any(kind in t and _equal(what, t[kind]) for t in told))
    return sum(repeated) / len(repeated) if repeated else None


def moved(
    old: Sequence[ClaimReading],
    new: Sequence[ClaimReading],
    before: Sequence[Evidence],
    after: Sequence[Evidence],
) -> bool | None:
    """Whether an answer moved as the simulator did, in its numbers and in their differences.

    ``old`` was read against the runs ``before``, ``new`` against the runs ``after``; run k of the
    one is run k of the other with an argument changed. Compared are each number with its new run,
    each with the same output's number in the old answer, and each direction between two runs.
    None where nothing was compared.
    """
    right: list[bool] = []
    for claim in new:
        told = _said(claim)
        size, base = (_size(after, run, claim.output) for run in (claim.run, claim.against))
        number, start = told.get("number"), _size(before, claim.run, claim.output)
        if size is None:
            continue
        if base is not None and claim.direction is not None:
            right.append(_SIGNS[claim.direction] == _sign(size - base))
        if isinstance(number, StatedRange) and claim.against is None:
            right.append(number.holds_for(size))
            for other in old:
                was = _said(other).get("number")
                if start is not None and isinstance(was, StatedRange) and _same(other, claim):
                    right.append(_follows(was, number, start, size))
    return all(right) if right else None


def _same(one: ClaimReading, two: ClaimReading) -> bool:
    """Whether two claims are about the same output of the same run or runs."""
    return (one.output, one.run, one.against) == (two.output, two.run, two.against)


def _said(claim: ClaimReading) -> dict[str, object]:
    """What a claim says of a listed output, by kind."""
    said = {
        "number": stated_range(claim.value or ""),
        "direction": claim.direction,
        "class": claim.class_word and claim.class_word.casefold(),
    }
    return {} if claim.output is None else {kind: what for kind, what in said.items() if what}


def _equal(one: object, two: object) -> bool:
    if isinstance(one, StatedRange) and isinstance(two, StatedRange):
        return one.holds_for(_middle(two)) or two.holds_for(_middle(one))
    return one == two


def _middle(stated: StatedRange) -> float:
    """The number itself; of a limit, the limit."""
    return stated.low if math.isinf(stated.high) else (stated.low + stated.high) / 2


def _size(evidence: Sequence[Evidence], run: int | None, output: str | None) -> float | None:
    """A run's output; None where there is no such number."""
    known = run is not None and 1 <= run <= len(evidence)
    value = evidence[run - 1].outputs.get(output or "") if run and known else None
    return float(value) if isinstance(value, int | float) and value is not True else None


def _follows(was: StatedRange, told: StatedRange, start: float, size: float) -> bool:
    """Whether two stated numbers differ as the two runs do, as far as their rounding tells."""
    if told.low < was.high and was.low < told.high:
        return told.holds_for(start) or (was.holds_for(start) and was.holds_for(size))
    return _sign(told.low - was.low) == _sign(abs(size) - abs(start))


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)
