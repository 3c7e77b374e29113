"""How likely each trend is when medians of small counts decide it.

A published trend compares two medians of counts pooled over members and places. Where they are a
handful of people, one person changes the class, and which class comes out is chance. Here that
chance is computed, so that a search over constants sees a smooth surface and not a staircase.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.summary import Trend

CLASSES: tuple[Trend, ...] = ("declining", "stable", "slow growth", "rapid growth")
_BOUNDS = (-5.0, 5.0, 50.0)
"""Percent of growth between the classes; -5, 5 and 50 are in the inner ones (``trend_of``)."""
LARGE = 80.0
"""Where the first median, or a fifth of the later one, is above it, growth has the spread
``SPREAD``: counts need not be followed one by one."""
SPREAD = 0.1
"""Standard deviation of the logarithm of the growth."""


def median_law(means: NDArray[np.float64], members: int) -> NDArray[np.float64]:
    """Chances of 0, 1/2, 1, 3/2, ... as the median of ``members`` Poisson counts of each mean.

    How many of all counts are at most x is a sum of binomials, taken as a Gaussian.
    """
    from scipy.special import ndtr, pdtr

    top = int(means.max() + 6 * math.sqrt(means.max()) + 8)
    below = pdtr(np.arange(top), means[:, None])
    count = members * below.sum(axis=0)
    spread = np.sqrt(members * (below * (1 - below)).sum(axis=0)) + 1e-9
    half = members * len(means) / 2
    # More than half of the counts at or below x: the median is at most x. Exactly half: it lies
    # halfway to the next count.
    more, least = (ndtr((count - half + shift) / spread) for shift in (-0.5, 0.5))
    so_far = np.maximum.accumulate(np.stack([more, least], axis=1).ravel())
    return np.diff(np.concatenate([[0.0], so_far]))


def likely_median(means: NDArray[np.float64], members: int) -> float:
    """The middle of ``median_law``; of large counts the mean of the middle place."""
    middle = float(np.median(means))
    if middle > LARGE:
        return middle
    return float(np.searchsorted(np.cumsum(median_law(means, members)), 0.5)) / 2


def trend_chances(
    first: NDArray[np.float64], later: NDArray[np.float64], members: int
) -> dict[str, float]:
    """The chance of each class, out of the places' mean counts on the first and the later day."""
    from scipy.special import ndtr

    start, end = float(np.median(first)), float(np.median(later))
    if max(start, end / 5) > LARGE:
        rise = math.log(max(end, 0.1) / max(start, 0.1))
        nearness = [(math.log1p(bound / 100) - rise) / SPREAD for bound in _BOUNDS]
        edges = [0.0, *(float(ndtr(x)) for x in nearness), 1.0]
        return dict(zip(CLASSES, np.diff(edges).tolist(), strict=True))
    before, after = median_law(first, members), median_law(later, members)
    sizes = np.arange(len(before)) / 2
    counts = np.arange(len(after)) / 2
    growth = 100 * (counts / np.maximum(sizes, 0.5)[:, None] - 1)
    # From nobody growth is against one person, as in ``summary.growth_percent``.
    growth[0] = 100 * counts
    classes = (growth >= _BOUNDS[0]).astype(np.int64)
    for bound in _BOUNDS[1:]:
        classes += growth > bound
    both = np.outer(before, after)
    chances = np.bincount(classes.ravel(), weights=both.ravel(), minlength=len(CLASSES))
    return dict(zip(CLASSES, chances.tolist(), strict=True))
