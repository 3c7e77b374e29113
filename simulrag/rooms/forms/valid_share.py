"""What people's words on questions come to: the share of valid ones, and how far people agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simulrag.judging.people.labels import WANTED, Key, Settled
from simulrag.metrics.families.agreement import equal_pairs, fleiss_kappa
from simulrag.metrics.intervals import Estimate, estimate, ratio, scenario_weights
from simulrag.rooms.forms.records import Formed
from simulrag.rooms.forms.validity import Decision, judged, key

RESAMPLES = 2000
_WORDS = ("true", "false", "undecided")


def valid_share(
    questions: Sequence[Formed], decisions: Sequence[Decision], settled: Mapping[Key, Settled]
) -> tuple[Estimate, int]:
    """The weighted share of valid questions among those decided, and the labels behind it.

    The 95 % interval is over seeds. It holds for all questions once every one was decided.
    """
    weight = {(one.question_id, one.pair_hash): one.weight for one in decisions}
    found = [
        (word, weight.get(key(one), 0), one.scenario_id)
        for one in questions
        if (word := judged(one, settled)) is not None
    ]
    seeds = sorted({scenario for _, _, scenario in found})
    place = np.array([seeds.index(scenario) for _, _, scenario in found], dtype=np.int64)
    bottom = np.array([w for _, w, _ in found], dtype=np.float64)
    top = bottom * np.array([word for word, _, _ in found], dtype=np.float64)
    weights = scenario_weights(len(seeds), RESAMPLES, 0, "valid")
    values = ratio(top, bottom, place, weights)
    return estimate(values, len(seeds), "no question that was offered has a settled label"), len(
        found
    )


def agreement(settled: Mapping[Key, Settled]) -> tuple[float, float, int] | None:
    """Share of equal pairs, Fleiss' kappa (1971) and the questions that two people judged, if any.

    The kappa is NaN where one word alone was ever given.
    """
    groups = [one for one in settled.values() if len(one.given) == WANTED]
    if not groups:
        return None
    counts = np.array(
        [[sum(g.label == word for g in one.given) for word in _WORDS] for one in groups]
    )
    each = np.ones((1, len(groups)))
    return float(equal_pairs(counts, each)[0]), float(fleiss_kappa(counts, each)[0]), len(groups)
