"""Interventions and their outputs: what is accepted and refused, means, changes and spread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulators.base import ArgumentError, validate_call
from simulators.urban import UrbanSimulator
from simulators.urban.interventions import (
    Interventions,
    comparison_outputs,
    replicate_seed,
    scenario_outputs,
)
from simulators.urban.runs import Measures


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("speed_factor", 0.29),
        ("speed_factor", 1.51),
        ("speed_factor", float("nan")),
        ("speed_factor", "0.8"),
        ("demand_factor", 0.2),
        ("demand_factor", 2.0),
        ("demand_factor", True),
        ("lanes", 0),
        ("lanes", 4),
        ("lanes", 1.5),
        ("use_priority_junction", "false"),
        ("use_priority_junction", 1),
        ("seed", -1),
        ("seed", 2**31),
        ("replicates", 0),
        ("replicates", 21),
        ("speed_limit", 30),
    ],
)
@pytest.mark.parametrize("tool", ["run_scenario", "compare_with_baseline"])
def test_a_bad_argument_is_named(tool: str, name: str, value: object) -> None:
    with pytest.raises(ArgumentError, match=name):
        validate_call(UrbanSimulator(), tool, {name: value})


def test_an_unknown_tool_is_told_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="compare_with_baseline, run_scenario"):
        validate_call(UrbanSimulator(), "simulate", {})
    with pytest.raises(ArgumentError, match="compare_with_baseline"):
        UrbanSimulator().run("simulate", Interventions(), 0)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"edges": ["a"]}, "sumocfg"),
        ({"signal": "j"}, "sumocfg"),
        ({"sumocfg": "x.sumocfg", "edges": "main"}, "list"),
        ({"sumocfg": "no-such.sumocfg", "edges": ["a"]}, "no-such.sumocfg"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        UrbanSimulator(**settings)  # type: ignore[arg-type]


BASE = Measures(
    travel_time_s=73.99,
    idling_s=14.49,
    distance_m=995.0,
    co2_mg=38300266.68,
    nox_mg=15847.9,
    fuel_ml=16463.65,
    vehicles=134,
    last_arrival_s=704.0,
)
CALM = replace(
    BASE,
    travel_time_s=65.82,
    idling_s=1.0,
    co2_mg=25557610.87,
    nox_mg=9989.14,
    fuel_ml=10986.1,
    last_arrival_s=668.0,
)


def test_changes_equal_the_published_ones_of_the_same_numbers() -> None:
    outputs = comparison_outputs([BASE], [CALM])
    assert outputs.travel_time_change_percent == -11.04
    assert outputs.co2_change_percent == -33.27
    assert outputs.idling_change_percent == -93.10
    assert outputs.baseline_co2_per_vehicle_mg == 285822.89
    assert outputs.vehicles_change_percent == 0


def test_one_replicate_has_no_spread() -> None:
    outputs = comparison_outputs([BASE], [CALM])
    assert outputs.travel_time_change_sd_percent is None
    assert scenario_outputs([BASE]).travel_time_sd_s is None


def test_spread_is_the_sample_standard_deviation() -> None:
    outputs = scenario_outputs([BASE, replace(BASE, travel_time_s=75.99)])
    assert outputs.travel_time_s == 74.99
    assert outputs.travel_time_sd_s == pytest.approx(1.41)
    assert outputs.idling_sd_s == 0


def test_a_zero_baseline_has_no_percentage() -> None:
    still = replace(BASE, idling_s=0.0, co2_mg=0.0)
    outputs = comparison_outputs([still, still], [CALM, CALM])
    assert outputs.idling_change_percent is None
    assert outputs.co2_change_percent is None
    assert outputs.idling_change_sd_percent is None
    assert outputs.travel_time_change_percent == -11.04


def test_seeds_of_replicates_start_with_the_seed_and_differ() -> None:
    seeds = [replicate_seed(7, index) for index in range(20)]
    assert seeds[0] == 7
    assert len(set(seeds)) == 20
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert set(seeds).isdisjoint(replicate_seed(8, index) for index in range(20))


def test_the_text_shows_the_spread_where_there_is_one() -> None:
    tool = UrbanSimulator().tools["run_scenario"]
    arguments = tool.arguments(replicates=2, lanes=1)  # type: ignore[call-arg]
    text = tool.describe(arguments, scenario_outputs([BASE, CALM]))
    assert "(standard deviation over 2 replicates: 5.78 s)" in text
    assert "a road diet from 2 to 1" in text
