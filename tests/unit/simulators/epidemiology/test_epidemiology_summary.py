"""Peaks, trends and the two conventions of quantiles."""

from __future__ import annotations

import numpy as np
import pytest

from simulators.epidemiology.summary import by_member, growth_percent, trend_of


@pytest.mark.parametrize(
    ("growth", "trend"),
    [
        (-5.1, "declining"),
        (-5.0, "stable"),
        (5.0, "stable"),
        (5.1, "slow growth"),
        (50.0, "slow growth"),
        (50.1, "rapid growth"),
    ],
)
def test_the_limits_of_the_trends(growth: float, trend: str) -> None:
    assert trend_of(growth) == trend


def test_growth_compares_the_28th_day_with_the_first() -> None:
    curve = np.full(60, 9.0)
    curve[0], curve[27] = 4.0, 6.0
    assert growth_percent(curve) == pytest.approx(50)
    assert growth_percent(np.zeros(40)) == 0
    curve[0] = 0
    assert growth_percent(curve) == 600


def test_peaks_are_the_members_own() -> None:
    """Two members who peak on different days: the median of the curves would hide their peaks."""
    series = np.zeros((2, 40), dtype=np.int64)
    series[0, 10], series[1, 20] = 100, 300
    summary = by_member(series)
    assert summary.peak_median == 200
    assert summary.peak_day == 15
    assert summary.cumulative_median == 200
    assert summary.peak_lower_90 == pytest.approx(110)
    assert summary.peak_upper_90 == pytest.approx(290)
