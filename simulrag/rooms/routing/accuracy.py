"""How often a question is sent to the right source, and what is taken for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from simulrag.metrics.intervals import Estimate, mean_estimate
from simulrag.rooms.routing.records import Routed

NONE = "none"
"""The right place of a question that no source can answer."""
KINDS = {
    "all": "all questions",
    "own": "the benchmark's own",
    "none": "of ours, that no source answers",
    "near_miss": "near misses, as a model wrote them",
}


@dataclass(frozen=True)
class RoutingScores:
    """Where questions were sent.

    ``accuracy``: by the names of ``KINDS`` the share sent right, and ``counts`` of how many; own
    questions are right at their own source, all others at none. ``confusion``: by (right, sent) the
    number of questions. ``failed`` ones count nowhere.
    """

    accuracy: dict[str, Estimate]
    counts: dict[str, int]
    confusion: dict[tuple[str, str], int]
    failed: int


def routing_scores(
    found: Iterable[Routed], *, resamples: int = 1000, seed: int = 0
) -> RoutingScores:
    """Scores with 95 % intervals; questions of one scenario are drawn together."""
    every = list(found)
    sent = [(one, one.route.chosen) for one in every if one.route is not None]
    accuracy, counts = {}, {}
    for kind in KINDS:
        chosen = [(one, to) for one, to in sent if kind in ("all", one.kind)]
        accuracy[kind] = mean_estimate(
            [one.right == to for one, to in chosen],
            [one.scenario_id for one, _ in chosen],
            resamples=resamples,
            seed=seed,
            stream=kind,
            undefined="no such question",
        )
        counts[kind] = len(chosen)
    confusion = Counter((one.right or NONE, to or NONE) for one, to in sent)
    return RoutingScores(accuracy, counts, dict(sorted(confusion.items())), len(every) - len(sent))
