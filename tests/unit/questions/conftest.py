"""A small simulator with a closed form, and a template for it."""

from __future__ import annotations

import pytest
from pydantic import Field

from simulators.base import ArgumentError, RunError, Tool, ToolModel, render_handbook
from simulrag.questions.records import Ask, MagnitudeClass, Placeholder, Run, Setting, Template


class CorridorArguments(ToolModel):
    speed_factor: float = Field(default=1.0, ge=0.3, le=1.5, description="speed limit x this")
    demand_factor: float = Field(default=1.0, ge=0.3, le=1.5, description="traffic x this")
    lanes: int = Field(default=2, ge=1, le=3, description="lanes each way")
    use_priority_junction: bool = Field(default=False, description="junction without a signal")


class CorridorOutputs(ToolModel):
    travel_time_s: float = Field(description="mean travel time", json_schema_extra={"unit": "s"})
    travel_time_change_percent: float = Field(description="change of the travel time")
    idling_change_percent: float = Field(description="change of the idling time")
    co2_change_percent: float | None = Field(description="change of the CO2 emissions, or none")
    note: str = Field(description="a word on the run")


class Corridor:
    """Travel time falls with speed, idling with the priority junction, CO2 with demand."""

    name = "corridor"
    oracle = False

    def __init__(self, failing_below: float = 0.0) -> None:
        self.failing_below = failing_below
        self.tools = {
            "compare": Tool(
                "compare",
                "Compare an intervention with the baseline.",
                CorridorArguments,
                CorridorOutputs,
                "Average travel time: {{ outputs.travel_time_s }} s, a change of "
                "{{ outputs.travel_time_change_percent }} %.\n"
                "Average idling time: a change of {{ outputs.idling_change_percent }} %.\n"
                "Total CO2 emissions: a change of {{ outputs.co2_change_percent }} %.",
            )
        }

    def handbook(self) -> str:
        return render_handbook("# Corridor", self.tools)

    def run(self, tool: str, arguments: ToolModel, seed: int) -> CorridorOutputs:
        if not isinstance(arguments, CorridorArguments):
            raise ArgumentError("wrong arguments")
        if arguments.speed_factor < self.failing_below:
            raise RunError(f"gridlock at speed factor {arguments.speed_factor}")
        change = round(100 * (0.8 / arguments.speed_factor - 0.8), 2)
        return CorridorOutputs(
            travel_time_s=round(70 * (1 + change / 100), 2),
            travel_time_change_percent=change,
            idling_change_percent=-93.1 if arguments.use_priority_junction else 0.4,
            co2_change_percent=round(100 * (0.713 * arguments.demand_factor - 1), 2),
            note="fine",
        )

    def fingerprint(self) -> str:
        return "corridor-1"


def corridor_template() -> Template:
    """Speed cut and demand cut with a priority junction; asks about travel time and CO2."""
    return Template(
        template_id="slow-priority",
        situation=(
            "The city cuts the speed limit by {speed_factor} percent, expects {demand_factor} "
            "percent less traffic and gives the junction priority signs."
        ),
        placeholders=[
            Placeholder(
                name="speed_factor",
                argument="speed_factor",
                low=0.5,
                high=0.9,
                decimals=2,
                wording="percent_reduction",
            ),
            Placeholder(
                name="demand_factor",
                argument="demand_factor",
                low=0.7,
                high=0.9,
                decimals=2,
                wording="percent_reduction",
            ),
        ],
        choices=[],
        runs=[
            Run(
                tool="compare",
                words="the plan",
                uses=["speed_factor", "demand_factor"],
                fixed=[Setting(argument="use_priority_junction", value=True)],
            )
        ],
        asks=[
            Ask(
                run=1,
                against=0,
                scale="value",
                answers=[],
                output="travel_time_change_percent",
                words="the percentage change in average travel time",
                classes=_classes(("minor", 0), ("moderate", 10), ("significant", 30)),
                better="lower",
            ),
            Ask(
                run=1,
                against=0,
                scale="value",
                answers=[],
                output="co2_change_percent",
                words="the percentage change in CO2 emissions",
                classes=_classes(("small", 0), ("medium", 40), ("large", 50)),
                better="lower",
            ),
        ],
    )


def _classes(*pairs: tuple[str, float]) -> list[MagnitudeClass]:
    return [MagnitudeClass(name=name, from_magnitude=start) for name, start in pairs]


@pytest.fixture
def corridor() -> Corridor:
    return Corridor()


@pytest.fixture
def template() -> Template:
    return corridor_template()


@pytest.fixture(scope="session")
def make_corridor() -> type[Corridor]:
    return Corridor
