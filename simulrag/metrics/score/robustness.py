"""Whether an answer stays when its question is only worded anew, and moves when that changes.

Claims are compared as they were read (``simulrag.method.reading``): numbers as numbers, each at its
own rounding and in its own unit, signs aside. The similarity of texts comes last: it hardly sees a
wrong number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from simulrag.method.numbers import numbers
from simulrag.method.reading import ClaimReading, StatedRange, stated_range
from simulrag.records import Evidence, Record, ToolCall

_SIGNS = {"rises": 1, "falls": -1, "same": 0}

Said = tuple[str, object]
"""What kind of thing a claim says (number, direction, class) and what."""


class SameClaims(Record):
    """Of what the claims of two answers say of listed outputs: how much the other answer repeats.

    ``said`` and ``repeated`` by "number", "direction" and "class", over both answers together.
    """

    said: dict[str, int]
    repeated: dict[str, int]

    def share(self, kind: str | None = None) -> float | None:
        """The share that is repeated, of one kind or of all; None where nothing was said."""
        said, repeated = (
            sum(counts.values()) if kind is None else counts.get(kind, 0)
            for counts in (self.said, self.repeated)
        )
        return repeated / said if said else None


class Moves(Record):
    """Whether an answer moved as the simulator did, when its question changed.

    ``values``: numbers of the new answer, and ``values_right`` those that hold for the new run.
    ``directions``: differences that were said, between the two answers or of two runs, and
    ``directions_right`` those that the runs have as well.
    """

    values: int = 0
    values_right: int = 0
    directions: int = 0
    directions_right: int = 0

    @property
    def moved(self) -> bool | None:
        """Whether all are right; None where there was nothing to compare."""
        if not self.values + self.directions:
            return None
        return self.values_right == self.values and self.directions_right == self.directions


def same_numbers(one: str, two: str) -> bool:
    """Whether two wordings hold the same numbers: a paraphrase with others asks something else."""
    first, second = (Counter(number.value for number in numbers(text)) for text in (one, two))
    return first == second


def same_calls(one: Sequence[ToolCall], two: Sequence[ToolCall]) -> bool:
    """Whether two answers rest on the same tool calls, in any order."""
    left = list(two)
    for call in one:
        if call not in left:
            return False
        left.remove(call)
    return not left


def same_claims(one: Sequence[ClaimReading], two: Sequence[ClaimReading]) -> SameClaims:
    """How far two answers say the same; both read against the runs of the first question.

    A claim about no listed output is not compared.
    """
    said: Counter[str] = Counter()
    repeated: Counter[str] = Counter()
    for claims, others in ((one, two), (two, one)):
        for claim in claims:
            for kind, what in _said(claim):
                said[kind] += 1
                repeated[kind] += any(
                    _equal(what, told)
                    for other in others
                    if _subject(other) == _subject(claim)
                    for kind_told, told in _said(other)
                    if kind_told == kind
                )
    return SameClaims(said=dict(said), repeated=dict(repeated))


def moves(
    old: Sequence[ClaimReading],
    new: Sequence[ClaimReading],
    before: Sequence[Evidence],
    after: Sequence[Evidence],
) -> Moves:
    """How far an answer moved as the simulator did.

    ``old`` was read against the runs ``before``, ``new`` against the runs ``after``; run k of the
    one is run k of the other with an argument changed.
    """
    counts: Counter[str] = Counter()
    stated = [(claim, _range(claim)) for claim in old]
    for claim in new:
        size, told = _size(after, claim.run, claim.output), _range(claim)
        if size is None:
            continue
        base = _size(after, claim.against, claim.output)
        if base is not None and claim.direction is not None:
            counts["directions"] += 1
            counts["directions_right"] += _SIGNS[claim.direction] == _sign(size - base)
        if told is None or claim.against is not None:
            continue
        counts["values"] += 1
        counts["values_right"] += told.holds_for(size)
        was = next((s for other, s in stated if s and _subject(other) == _subject(claim)), None)
        start = _size(before, claim.run, claim.output)
        if was is not None and start is not None:
            counts["directions"] += 1
            counts["directions_right"] += _follows(was, told, start, size)
    return Moves(**counts)


def cosine(one: Sequence[float], two: Sequence[float]) -> float | None:
    """Cosine of two vectors; None where one has no length. Raises ValueError for two widths."""
    lengths = math.hypot(*one) * math.hypot(*two)
    return sum(a * b for a, b in zip(one, two, strict=True)) / lengths if lengths else None


def _subject(claim: ClaimReading) -> tuple[str | None, int | None, int | None]:
    return claim.output, claim.run, claim.against


def _said(claim: ClaimReading) -> Iterator[Said]:
    """What a claim says of a listed output."""
    if claim.output is None:
        return
    stated = _range(claim)
    if stated is not None:
        yield "number", stated
    if claim.direction is not None:
        yield "direction", claim.direction
    if claim.class_word is not None:
        yield "class", claim.class_word.casefold()


def _range(claim: ClaimReading) -> StatedRange | None:
    return None if claim.value is None else stated_range(claim.value)


def _equal(one: object, two: object) -> bool:
    if isinstance(one, StatedRange) and isinstance(two, StatedRange):
        return one.holds_for(_middle(two)) or two.holds_for(_middle(one))
    return one == two


def _middle(stated: StatedRange) -> float:
    """The number itself; of a limit, the limit."""
    return stated.low if math.isinf(stated.high) else (stated.low + stated.high) / 2


def _size(evidence: Sequence[Evidence], run: int | None, output: str | None) -> float | None:
    """The size of a run's output; None where there is no such number."""
    if run is None or output is None or not 1 <= run <= len(evidence):
        return None
    value = evidence[run - 1].outputs.get(output)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else None  # type: ignore[arg-type]


def _follows(was: StatedRange, told: StatedRange, start: float, size: float) -> bool:
    """Whether two stated numbers differ as the two runs do, as far as their rounding tells."""
    if told.low < was.high and was.low < told.high:
        return was.holds_for(size) or told.holds_for(start)
    return _sign(told.low - was.low) == _sign(abs(size) - abs(start))


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)
