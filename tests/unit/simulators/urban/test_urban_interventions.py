"""Arguments: what the tools accept, and what each bad argument is told."""

from __future__ import annotations

import pytest

from simulators.base import ArgumentError, validate_call
from simulators.urban import UrbanSimulator
from simulators.urban.interventions import Interventions


def test_defaults_are_the_baseline() -> None:
    assert Interventions().model_dump() == {
        "speed_factor": 1.0,
        "demand_factor": 1.0,
        "lanes": 2,
        "use_priority_junction": False,
        "seed": None,
        "replicates": 1,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("speed_factor", 0.29),
        ("speed_factor", 1.51),
        ("speed_factor", 0),
        ("speed_factor", float("nan")),
        ("speed_factor", "0.8"),
        ("speed_factor", None),
        ("demand_factor", 0.2),
        ("demand_factor", 2.0),
        ("demand_factor", float("inf")),
        ("demand_factor", True),
        ("lanes", 0),
        ("lanes", 4),
        ("lanes", 99),
        ("lanes", 1.5),
        ("lanes", "one"),
        ("use_priority_junction", "false"),
        ("use_priority_junction", 1),
        ("seed", -1),
        ("seed", 2**31),
        ("seed", 1.5),
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


@pytest.mark.parametrize("value", [0.3, 1.5, 1])
def test_the_ends_of_the_range_are_inside(value: float) -> None:
    assert Interventions(speed_factor=value, demand_factor=value).speed_factor == value


def test_the_handbook_lists_every_argument_with_its_range() -> None:
    handbook = UrbanSimulator().handbook()
    assert "| speed_factor | number | ratio | 0.3 to 1.5 | 1.0 |" in handbook
    assert "| use_priority_junction | boolean | - | - | false |" in handbook
    for name in Interventions.model_fields:
        assert f"| {name} |" in handbook


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
