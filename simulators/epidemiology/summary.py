"""What a set of trajectories says: peak, timing, first trend, burden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Trend = Literal["declining", "stable", "slow growth", "rapid growth"]
GROWTH_DAY = 27
"""Growth over the first four weeks compares the last of their 28 days with the first."""
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Summary:
    """Of one daily series over an ensemble; counts are people (or people a day)."""

    peak_median: float
    peak_lower_90: float
    peak_upper_90: float
    peak_day: int
    growth_percent: float
    cumulative_median: float

    @property
    def trend(self) -> Trend:
        """The class of the four-week growth."""
        return trend_of(self.growth_percent)


def trend_of(growth_percent: float) -> Trend:
    """Below -5 declining, to 5 stable, to 50 slow growth, above rapid growth."""
    if growth_percent < -5:
        return "declining"
    if growth_percent <= 5:
        return "stable"
    return "slow growth" if growth_percent <= 50 else "rapid growth"


def by_member(series: NDArray[np.int64]) -> Summary:
    """Of (member, day): quantiles over the members' own peaks, peak days and totals."""
    peaks = np.quantile(series.max(axis=1), QUANTILES)
    curve = np.median(series, axis=0)
    return Summary(
        peak_median=float(peaks[1]),
        peak_lower_90=float(peaks[0]),
        peak_upper_90=float(peaks[2]),
        peak_day=int(np.median(series.argmax(axis=1))),
        growth_percent=growth_percent(curve),
        cumulative_median=float(np.median(series.sum(axis=1))),
    )


def growth_percent(curve: NDArray[np.float64]) -> float:
    """Change from the first day to the last of the first four weeks.

    From a first day of 0 the growth is against one person: there is no other finite number.
    """
    first, later = float(curve[0]), float(curve[min(GROWTH_DAY, len(curve) - 1)])
    if first == 0:
        return 100 * later
    return 100 * (later / first - 1)
