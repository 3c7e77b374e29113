"""What a set of trajectories says: peak, timing, first trend, burden, as outputs of the tool."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simulators.base import ToolModel, measured
from simulators.epidemiology.arguments import ForecastArguments

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
    """Classify growth: below -5 declining, to 5 stable, to 50 slow, above rapid growth."""
    if growth_percent < -5:
        return "declining"
    if growth_percent <= 5:
        return "stable"
    return "slow growth" if growth_percent <= 50 else "rapid growth"


def by_member(series: NDArray[np.int64]) -> Summary:
    """Summarise (member, day) by quantiles over the members' own peaks, peak days and totals."""
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
    """Compute the change from the first day to the last of the first four weeks.

    From a first day of 0 the growth is against one person: there is no other finite number.
    """
    first, later = float(curve[0]), float(curve[min(GROWTH_DAY, len(curve) - 1)])
    if first == 0:
        return 100 * later
    return 100 * (later / first - 1)


class StateSummary(ToolModel):
    """The summary of one state on its own."""

    state: str
    peak_median: float
    peak_lower_90: float
    peak_upper_90: float
    peak_date: str
    weeks_to_peak: float
    trend: Trend
    four_week_growth_percent: float
    cumulative_median: float


class DailyQuantiles(ToolModel):
    """Quantiles over the members, day by day from the start date."""

    lower_90: list[float] = Field(description="5 % quantile")
    median: list[float] = Field(description="50 % quantile")
    upper_90: list[float] = Field(description="95 % quantile")


class ForecastOutputs(ToolModel):
    """The forecast's summary, over the sum of the named states."""

    peak_median: float = measured("people", "peak magnitude of the metric, median of the ensemble")
    peak_lower_90: float = measured(
        "people", "lower bound of the 90 percent interval of the peak magnitude"
    )
    peak_upper_90: float = measured(
        "people", "upper bound of the 90 percent interval of the peak magnitude"
    )
    peak_date: str = measured("YYYY-MM-DD", "date of the peak, median of the ensemble")
    weeks_to_peak: float = measured("weeks", "time from the start of the season to the peak")
    trend: Trend = Field(description="initial trend: the class of the four-week growth")
    four_week_growth_percent: float = measured(
        "percent", "growth of the metric over the first four weeks (of the daily medians)"
    )
    cumulative_median: float = measured(
        "people",
        "total burden of the season: the metric summed over all days, median of the "
        "ensemble (patient days for hospital prevalence, admissions for hospital incidence)",
    )
    per_state: list[StateSummary] = Field(
        default=[], description="the summary by state, where asked for"
    )
    daily: DailyQuantiles | None = Field(
        default=None, description="daily quantiles, where asked for"
    )


def outputs(arguments: ForecastArguments, series: NDArray[np.int64]) -> ForecastOutputs:
    """Summarise the forecast; ``series`` is (member, day, named state)."""
    total = series.sum(axis=2)
    states: list[StateSummary] = []
    if arguments.per_state:
        states = [
            StateSummary.model_validate(
                {"state": state, **_fields(arguments, by_member(series[:, :, place]))}
            )
            for place, state in enumerate(arguments.states)
        ]
    daily = None
    if arguments.daily:
        low, middle, high = np.quantile(total, QUANTILES, axis=0).round(1).tolist()
        daily = DailyQuantiles(lower_90=low, median=middle, upper_90=high)
    summary = _fields(arguments, by_member(total))
    return ForecastOutputs.model_validate({**summary, "per_state": states, "daily": daily})


def _fields(arguments: ForecastArguments, summary: Summary) -> dict[str, object]:
    peak = date.fromisoformat(arguments.start_date) + timedelta(days=summary.peak_day)
    return {
        "peak_median": round(summary.peak_median, 1),
        "peak_lower_90": round(summary.peak_lower_90, 1),
        "peak_upper_90": round(summary.peak_upper_90, 1),
        "peak_date": peak.isoformat(),
        "weeks_to_peak": round(summary.peak_day / 7, 1),
        "trend": summary.trend,
        "four_week_growth_percent": round(summary.growth_percent, 1),
        "cumulative_median": round(summary.cumulative_median, 1),
    }
