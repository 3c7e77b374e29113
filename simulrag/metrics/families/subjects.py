"""Subject-level metrics: whether the less certain subjects are the wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulrag.metrics.domain import DomainData
from simulrag.metrics.intervals import estimates
from simulrag.metrics.ranking import RankedClaims, measure
from simulrag.metrics.registry import metric
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement, filled
from simulrag.records import VOTES

if TYPE_CHECKING:
    import polars as pl

METRICS = ("auroc", "aupr", "true_share")


@metric("subjects")
def subjects(data: DomainData) -> Iterator[Measurement]:
    """Subjects ranked before verification by votes and by each centrality; none where nobody asked
    what claims are about."""
    ranked_subjects = _labelled(data)
    for undecided in TREATMENTS if len(ranked_subjects) else ():
        counted = ranked_subjects if undecided == "false" else ranked_subjects.drop_nulls("true")
        question = counted["question"].to_numpy()
        for name in (VOTES, *data.settings.centralities):
            ranked = RankedClaims(
                counted[name].to_numpy(),
                counted["true"].fill_null(False).to_numpy(),
                data.scenario[question],
                question,
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


def _labelled(data: DomainData) -> pl.DataFrame:
    """The subjects whose ranking claims are all labelled, and the index of each one's question.

    The scores are the higher the surer: by votes the negative uncertainty, by a centrality the mean
    confidence of these claims. ``true``: all of them are; null: undecided.
    """
    import polars as pl

    label = pl.col("label_before")
    true = pl.when((label == "false").any()).then(False)
    return (
        data.claims.with_columns(question=data.pool.question)
        .filter("speaks")
        .group_by("question", "subject")
        .agg(
            (-pl.first("subject_uncertainty")).alias(VOTES),
            pl.col(data.settings.centralities).mean(),
            true.when((label == "undecided").any()).then(None).otherwise(True).alias("true"),
            label.is_not_null().all().alias("labelled"),
        )
        .filter("labelled")
        .sort("question", "subject")
    )
