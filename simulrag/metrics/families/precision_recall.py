"""Precision against recall after verification, for curves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulrag.metrics.domain import DomainData
from simulrag.metrics.ranking import score_levels
from simulrag.metrics.registry import metric
from simulrag.metrics.selections import plans_of, ranked_claims
from simulrag.metrics.table import Measurement

_RECALLS = np.linspace(0.02, 1.0, 50)


@metric("precision_recall")
def precision_recall(data: DomainData) -> Iterator[Measurement]:
    """Precision at 50 recalls (``x``) by method at each budget, and with none and all verified.

    Of the leading variant: the highest threshold that reaches a recall gives its precision, and
    ``n``, the claims that it keeps. A Random line is its first seed's. Nothing where no claim is
    true, or where the method could not be measured.
    """
    settings = data.settings
    for setting in plans_of(data)[settings.centrality]:
        if setting.reason:
            continue
        ranked = ranked_claims(data, setting, settings.undecided)
        if not ranked.true.any():
            continue
        # A threshold takes all claims of one score.
        group = score_levels(ranked.scores)
        hits = np.cumsum(np.bincount(group, weights=ranked.true))
        kept = np.cumsum(np.bincount(group))
        at = np.searchsorted(hits / hits[-1], _RECALLS - 1e-9)
        for level, value, count in zip(_RECALLS, (hits / kept)[at], kept[at], strict=True):
            yield Measurement(
                family="precision_recall",
                domain=data.domain,
                method=setting.method,
                metric="precision",
                budget_percent=setting.budget_percent,
                centrality=settings.centrality,
                value=float(value),
                n=int(count),
                coverage=data.coverage,
                undecided=settings.undecided,
                x=float(level),
            )
