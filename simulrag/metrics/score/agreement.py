"""How far raters agree, and how far two measures go together."""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.errors import InputError


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa (1971); ``counts[item][label]``: how many raters gave it.

    None where one label alone was ever given, or none. Raises InputError where items have
    different numbers of ratings, or fewer than two.
    """
    import numpy as np

    from simulrag.metrics.families.agreement import fleiss_kappa as resampled

    ratings = sorted({int(sum(item)) for item in counts})
    if len(ratings) > 1 or min(ratings, default=2) < 2:
        raise InputError(
            f"every item needs the same number of ratings, at least two; there are {ratings}"
        )
    if not ratings:
        return None
    (kappa,) = resampled(np.asarray(counts), np.ones((1, len(counts))))
    return None if np.isnan(kappa) else float(kappa)


def spearman(one: Sequence[float], two: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's rank correlation, ties by midrank, and its two-sided p-value.

    None below 3 pairs and for a constant.
    """
    from scipy.stats import spearmanr

    if len(one) != len(two):
        raise InputError(f"{len(one)} and {len(two)} values are no pairs")
    if len(one) < 3 or len(set(one)) == 1 or len(set(two)) == 1:
        return None
    found = spearmanr(one, two)
    return float(found.statistic), float(found.pvalue)
