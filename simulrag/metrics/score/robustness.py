"""Whether an answer stays the same when its question is only worded anew, and moves when it asks
for something else.

Claims are compared as they were read (``simulrag.method.reading``): numbers as numbers. The
similarity of texts comes last: it hardly sees a wrong number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simulrag.method.reading import ClaimReading
from simulrag.records import Evidence, Record, ToolCall


class SameClaims(Record):
    """Of the claims of two answers that say a number, direction or class: those the other repeats.

    ``said`` and ``repeated`` by "number", "direction" and "class", over both answers together.
    """

    said: dict[str, int]
    repeated: dict[str, int]

    def share(self, kind: str | None = None) -> float | None:
        """The share that is repeated, of one kind or of all; None where nothing was said."""
        raise NotImplementedError


class Moves(Record):
    """Of the outputs that a perturbed question's answer speaks of: those that moved as simulated.

    ``compared``: outputs that the new answer gives a number or direction for. ``followed``: those
    that it gives as the new run has them, and that moved from the old answer in the same direction.
    """

    compared: int
    followed: int

    @property
    def moved(self) -> bool | None:
        """Whether all did; None where there was nothing to compare."""
        return self.followed == self.compared if self.compared else None


def same_calls(one: Sequence[ToolCall], two: Sequence[ToolCall]) -> bool:
    """Whether two answers rest on the same tool calls, in any order."""
    raise NotImplementedError


def same_claims(one: Sequence[ClaimReading], two: Sequence[ClaimReading]) -> SameClaims:
    """How far two answers say the same; both read against the runs of the first question."""
    raise NotImplementedError


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
    raise NotImplementedError


def cosine(one: Sequence[float], two: Sequence[float]) -> float | None:
    """Cosine of two vectors; None where one has no length."""
    raise NotImplementedError


__all__ = ["Mapping", "Moves", "SameClaims", "cosine", "moves", "same_calls", "same_claims"]
