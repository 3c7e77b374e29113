"""Tool calls out of questions and handbooks, known ones and a user's own."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from simulators.base import Tool, ToolModel, render_handbook
from simulrag.models.offline.changes import changes
from simulrag.models.offline.handbook import read_handbook
from simulrag.models.offline.places import city, points, states
from simulrag.models.offline.tool_calls import tool_calls


class OvenArguments(ToolModel):
    heat_degc: float = Field(ge=50, le=300, json_schema_extra={"unit": "degc"}, description="heat")
    duration_min: float = Field(
        30.0, ge=1, le=240, json_schema_extra={"unit": "min"}, description="baking time"
    )
    fan: bool = Field(False, description="the fan runs")
    rack: int = Field(2, ge=1, le=4, description="rack from below")
    mode: str = Field("even", json_schema_extra={"enum": ["even", "grill"]}, description="mode")


class OvenOutputs(ToolModel):
    crust_mm: float = Field(json_schema_extra={"unit": "mm"}, description="thickness of the crust")


OVEN = {
    "bake": Tool(
        "bake", "Bakes one loaf of bread.", OvenArguments, OvenOutputs, "{{ outputs.crust_mm }}"
    )
}
HANDBOOK = render_handbook("# Oven", OVEN)


def call(question: str, problems: list[str] | None = None) -> list[dict[str, Any]]:
    return list(tool_calls(question, HANDBOOK, problems or []))


def test_the_tables_of_a_handbook_are_read_back() -> None:
    (tool,) = read_handbook(HANDBOOK)
    heat, duration, fan, rack, mode = tool.arguments
    assert (heat.required, heat.low, heat.high, heat.unit) == (True, 50, 300, "degc")
    assert (duration.required, fan.type, rack.type) == (False, "boolean", "integer")
    assert mode.choices == ["even", "grill"]
    assert [row.name for row in tool.outputs] == ["crust_mm"]


def test_a_tool_of_the_users_own() -> None:
    question = (
        "How thick is the crust at a heat of 230°C and a baking time of 45 minutes with the fan, "
        "on grill?"
    )
    assert call(question) == [
        {
            "tool": "bake",
            "arguments": {"heat_degc": 230.0, "duration_min": 45.0, "fan": True, "mode": "grill"},
        }
    ]


def test_arguments_written_by_name() -> None:
    question = "What crust does `heat_degc` = 180, fan=false and rack: 3 give?"
    arguments = call(question)[0]["arguments"]
    assert arguments == {"heat_degc": 180.0, "fan": False, "rack": 3}


def test_nothing_fits() -> None:
    assert call("What is the capital of France?") == []
    assert call("How thick is the crust of the earth?") == []
    assert tool_calls("Anything?", "no tables here", []) == []


def test_out_of_range_is_left_for_the_validator() -> None:
    assert call("How thick is the crust at a heat of 900°C?")[0]["arguments"] == {
        "heat_degc": 900.0
    }


def test_a_refused_argument_is_left_out_and_a_refused_required_one_drops_the_call() -> None:
    question = "How thick is the crust at a heat of 200°C and a baking time of 500 minutes?"
    refusal = "oven.bake refuses its arguments: duration_min: Input should be less than 240"
    assert call(question, [refusal]) == [{"tool": "bake", "arguments": {"heat_degc": 200.0}}]
    refusal = "oven.bake refuses its arguments: heat_degc: Input should be less than 150"
    assert call(question, [refusal]) == []


TOPICS = {"co2": "CO2", "ch4": "CH4", "speed": r"speed limits?"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CO2 is cut by 15% and CH4 by 20%", {"co2": -15, "ch4": -20}),
        ("a 9% rise in CO2 and a 4% fall in CH4", {"co2": 9, "ch4": -4}),
        ("CO2 emissions 5.5% higher and CH4 emissions 7% lower", {"co2": 5.5, "ch4": -7}),
        ("reducing CO2 by -5%", {"co2": -5}),
        ("CO2 adjusted by 3%", {"co2": 3}),
        ("halve the speed limit", {"speed": -50}),
        ("limited to 70% of today's speed limit", {"speed": -30}),
        ("speed limits lowered by a quarter", {"speed": -25}),
        ("Is the CO2 change above 5 percent?", {}),
    ],
)
def test_changes(text: str, expected: dict[str, float]) -> None:
    assert {name: change.percent for name, change in changes(text, TOPICS).items()} == expected


def test_places() -> None:
    assert city("For the city of San Carlos del Zulia in 2040, what ...?") == "San Carlos del Zulia"
    assert city("Under ssp126, how warm was Aš in 1999?") == "Aš"
    assert city("What would CO2 do in 2040 under SSP2-4.5?") is None
    assert states("West Virginia, Virginia and Washington") == [
        "West Virginia",
        "Virginia",
        "Washington",
    ]
    assert points("at [(10.75, -59.91), (1, 2)]") == [[10.75, -59.91], [1.0, 2.0]]
