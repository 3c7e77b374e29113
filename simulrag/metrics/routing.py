"""How often a question is sent to the right source, and what is taken for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

NONE = "none"
"""The right place of a question that no source can answer."""


@dataclass(frozen=True)
class RoutingScores:
    """Of ``count`` questions: the share sent right, with its parts, and the confusion.

    ``answered``: the share of the answerable that came to their own source. ``refused``: the share
    of the unanswerable that came to none. None where there is no such question. ``confusion``: by
    (right, sent) the number of questions.
    """

    count: int
    accuracy: float | None
    answered: float | None
    refused: float | None
    confusion: dict[tuple[str, str], int]


def routing_scores(pairs: Iterable[tuple[str | None, str | None]]) -> RoutingScores:
    """Scores of (right source, source it was sent to); None stands for no source."""
    confusion = Counter((right or NONE, sent or NONE) for right, sent in pairs)
    known = {pair: n for pair, n in confusion.items() if pair[0] != NONE}
    unknown = {pair: n for pair, n in confusion.items() if pair[0] == NONE}
    return RoutingScores(
        count=confusion.total(),
        accuracy=_share(confusion),
        answered=_share(known),
        refused=_share(unknown),
        confusion=dict(sorted(confusion.items())),
    )


def _share(confusion: dict[tuple[str, str], int]) -> float | None:
    total = sum(confusion.values())
    right = sum(n for (one, other), n in confusion.items() if one == other)
    return right / total if total else None
