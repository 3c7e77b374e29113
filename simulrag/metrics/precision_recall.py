"""Precision against recall after verification, for curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from simulrag.method.selection import Candidates
from simulrag.metrics.claim_level import Setting, ranked_claims, ranking_scores
from simulrag.metrics.pool import ClaimPool
from simulrag.metrics.ranking import score_levels
from simulrag.metrics.settings import MetricSettings

Row = dict[str, object]

_RECALLS = np.linspace(0.02, 1.0, 50)


def precision_recall(
    pool: ClaimPool, candidates: Candidates, plan: Iterable[Setting], settings: MetricSettings
) -> Iterator[Row]:
    """Precision at 50 recalls by method at each budget, and with none and all verified.

    The highest threshold that reaches a recall gives its precision, and ``n``, the claims that it
    keeps. A Random line is its first seed's. Nothing where no claim is true, or where the method
    could not be measured.
    """
    for setting in plan:
        if setting.reason:
            continue
        ranked = ranked_claims(
            pool,
            ranking_scores(candidates, setting.method),
            setting.chosen[0],
            settings.undecided,
            settings.all_selected_one,
        )
        if not ranked.true.any():
            continue
        # A threshold takes all claims of one score.
        group = score_levels(ranked.scores)
        hits = np.cumsum(np.bincount(group, weights=ranked.true))
        kept = np.cumsum(np.bincount(group))
        precision = hits / kept
        recall = hits / hits[-1]
        at = np.searchsorted(recall, _RECALLS - 1e-9)
        for level, value, count in zip(_RECALLS, precision[at], kept[at], strict=True):
            yield {
                "domain": pool.domain,
                "method": setting.method,
                "budget_percent": setting.budget_percent,
                "recall": float(level),
                "precision": float(value),
                "n": int(count),
            }
