"""Subject-level metrics: whether the less certain subjects are the wrong ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulrag.metrics.data import DomainData
from simulrag.metrics.intervals import estimates
from simulrag.metrics.ranking import Ranked, measure
from simulrag.metrics.registry import metric
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement, filled
from simulrag.records import VOTES

METRICS = ("auroc", "aupr", "true_share")


@metric("subjects")
def subjects(data: DomainData) -> Iterator[Measurement]:
    """Subjects ranked before verification by votes and by each centrality; none where nobody asked
    what claims are about."""
    for undecided in TREATMENTS if data.topics else ():
        counted = [one for one in data.topics if one.true is not None or undecided == "false"]
        for at, name in enumerate((VOTES, *data.settings.centralities)):
            ranked = Ranked(
                np.array([one.scores[at] for one in counted], dtype=float),
                np.array([one.true is True for one in counted], dtype=bool),
                np.array([one.scenario for one in counted], dtype=np.int64),
                np.array([one.question for one in counted], dtype=np.int64),
            )
            values = measure(ranked, data.weights)
            reasons = ["undefined: all labelled subjects are alike"] * len(METRICS)
            found = estimates([values[which] for which in METRICS], data.scenarios, reasons)
            place = Measurement(
                family="subjects",
                domain=data.domain,
                centrality=name,
                undecided=undecided,
                n=len(counted),
            )
            for which, result in zip(METRICS, found, strict=True):
                yield filled(place, result, metric=which)
