"""How often a question is sent to the right source, and what is taken for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simulrag.method.routed import Routed
from simulrag.metrics.intervals import Estimate, estimate, ratio, scenario_weights

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
        hits = [float(one.right == to) for one, to in chosen]
        scenarios = [one.scenario_id for one, _ in chosen]
        accuracy[kind] = _share(hits, scenarios, resamples, seed, kind)
        counts[kind] = len(chosen)
    confusion = Counter((one.right or NONE, to or NONE) for one, to in sent)
    return RoutingScores(accuracy, counts, dict(sorted(confusion.items())), len(every) - len(sent))


def _share(
    hits: Sequence[float], scenarios: Sequence[str], resamples: int, seed: int, stream: str
) -> Estimate:
    names = list(dict.fromkeys(scenarios))
    places = {name: place for place, name in enumerate(names)}
    weights = scenario_weights(len(names), resamples, seed, stream)
    top = np.array(hits, dtype=float)
    index = np.array([places[name] for name in scenarios], dtype=np.int64)
    return estimate(ratio(top, np.ones(len(hits)), index, weights), len(names), "no such question")
