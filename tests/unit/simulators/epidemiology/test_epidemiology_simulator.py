"""The tool: arguments, bad input, outputs, summaries, text and fingerprint."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from simulators.base import ArgumentError, validate_call
from simulators.epidemiology import EpidemiologySimulator
from simulators.epidemiology.arguments import ForecastArguments
from simulators.epidemiology.summary import ForecastOutputs, by_member, growth_percent, trend_of

CALL: dict[str, Any] = {
    "states": ["New Hampshire", "NJ"],
    "start_date": "2022-10-05",
    "r0": 2.4,
    "seasonality": "none",
    "prior_immunity_percent": 30,
    "metric": "hospital prevalence",
}
SIMULATOR = EpidemiologySimulator(members=10)


def forecast(run_seed: int = 0, **changes: Any) -> ForecastOutputs:
    arguments = validate_call(SIMULATOR, "forecast", {**CALL, **changes})
    return SIMULATOR.run("forecast", arguments, run_seed)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"states": []}, "states is empty"),
        ({"states": ["New Jersy"]}, "nearest names are New Jersey"),
        ({"r0": 0}, "r0: .*greater than or equal to 1.2"),
        ({"r0": float("nan")}, "r0: .*finite"),
        ({"r0": 9}, "r0: .*less than or equal to 4"),
        ({"prior_immunity_percent": 140}, "prior_immunity_percent: .*less than or equal to 80"),
        ({"start_date": "soon"}, "'soon' is not a date"),
        ({"start_date": "2022-02-30"}, "is not a date"),
        ({"start_date": "9999-12-01"}, "between 1900 and 2200"),
        ({"members": 10**6}, "512 MiB; at most"),
        ({"members": 0}, "members: .*greater than or equal to 2"),
        ({"seasonality": "strong"}, "seasonality"),
        ({"seasonality": 1.5}, "seasonality"),
        ({"metric": "deaths"}, "metric"),
        ({"horizon_weeks": 3}, "horizon_weeks"),
        ({"vaccine": 1}, "vaccine"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        validate_call(SIMULATOR, "forecast", {**CALL, **changes})


def test_a_setting_of_too_many_members_is_refused_before_the_run() -> None:
    simulator = EpidemiologySimulator(members=10**6)
    with pytest.raises(ArgumentError, match="512 MiB"):
        simulator.run("forecast", ForecastArguments.model_validate(CALL), 0)
    with pytest.raises(ArgumentError, match="at least 2"):
        EpidemiologySimulator(members=1)


def test_another_tool_is_refused() -> None:
    arguments = ForecastArguments.model_validate(CALL)
    with pytest.raises(ArgumentError, match="one tool, 'forecast'"):
        SIMULATOR.run("hindcast", arguments, 0)


def test_outputs_fit_together() -> None:
    outputs = forecast()
    assert outputs.peak_lower_90 < outputs.peak_median < outputs.peak_upper_90
    days = round(outputs.weeks_to_peak * 7)
    assert outputs.peak_date == (date(2022, 10, 5) + timedelta(days=days)).isoformat()
    assert outputs.trend == "rapid growth"
    assert outputs.cumulative_median > 10 * outputs.peak_median
    assert outputs.per_state == []
    assert outputs.daily is None


def test_a_run_is_decided_by_its_arguments_and_seed() -> None:
    assert forecast(3) == forecast(3)
    assert forecast(3) != forecast(4)
    assert forecast(3) == forecast(99, seed=3)
    assert forecast(3) == forecast(3, states=["NH", "new jersey"])


def test_states_alone_and_together() -> None:
    outputs = forecast(per_state=True, daily=True)
    assert [one.state for one in outputs.per_state] == ["New Hampshire", "New Jersey"]
    small, large = outputs.per_state
    assert small.peak_median < large.peak_median < outputs.peak_median
    alone = forecast(states=["New Jersey"])
    assert alone.peak_median == large.peak_median
    assert outputs.daily is not None
    assert len(outputs.daily.median) == 45 * 7
    pairs = zip(outputs.daily.lower_90, outputs.daily.upper_90, strict=True)
    assert all(low <= high for low, high in pairs)
    assert outputs.peak_median == pytest.approx(max(outputs.daily.median), rel=0.05)


def test_more_immunity_and_every_intervention_lower_the_burden() -> None:
    plain = forecast(metric="hospital incidence").cumulative_median
    for changes in (
        {"prior_immunity_percent": 50},
        {"r0": 1.8},
        {"school_closure_weeks": 12, "school_closure_start_week": 0},
        {"community_reduction_percent": 30, "community_reduction_weeks": 20},
        {"vaccination_coverage_percent": 40},
    ):
        assert forecast(metric="hospital incidence", **changes).cumulative_median < 0.97 * plain


def test_seasonality_delays_and_a_number_stands_for_a_name() -> None:
    assert forecast().weeks_to_peak < forecast(seasonality="moderate").weeks_to_peak
    assert (
        forecast(seasonality="moderate").weeks_to_peak < forecast(seasonality="high").weeks_to_peak
    )
    assert forecast(seasonality=0) == forecast(seasonality="none")


def test_a_season_that_only_declines_is_said_to() -> None:
    changes = {**CALL, "r0": 1.2, "prior_immunity_percent": 80, "metric": "hospital incidence"}
    arguments = ForecastArguments.model_validate({**changes, "states": ["CA", "TX", "NY", "FL"]})
    outputs = SIMULATOR.run("forecast", arguments, 0)
    assert outputs.trend == "declining"
    assert outputs.weeks_to_peak <= 0.6


def test_the_fingerprint_knows_the_setting() -> None:
    assert SIMULATOR.fingerprint() == EpidemiologySimulator(members=10).fingerprint()
    assert SIMULATOR.fingerprint() != EpidemiologySimulator().fingerprint()


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
