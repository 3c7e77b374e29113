"""A simulator to begin with, of a reservoir: put your own model in its place.

What a model is told is the handbook, whose tables come from the arguments and outputs below. What
it reads of a run is the tool's template.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulators.base import (
    Tool,
    ToolModel,
    code_files,
    files_fingerprint,
    measured,
    render_handbook,
)

HANDBOOK = """\
# A reservoir

One reservoir, full today, and one town that draws from it every day. Rain, evaporation and water
quality are not simulated.
"""
MAX_DAYS = 3650


class Scenario(ToolModel):
    """What is given, the same every day."""

    demand_factor: float = measured(
        "factor", "the town's demand against today's", default=1.0, ge=0.5, le=2.0
    )
    inflow_m3_per_day: float = measured("m3/day", "inflow from the river", ge=0, le=1e6)


class ScenarioForDays(Scenario):
    """The same for some time."""

    days: int = measured("days", "how many days are simulated", default=30, ge=1, le=365)


class ScenarioOutputs(ToolModel):
    """What a scenario leads to."""

    days_until_empty: float = measured("days", "days until the reservoir is empty, 3650 at most")


class StateOutputs(ToolModel):
    """What is there at the end."""

    stored_m3: float = measured("m3", "water stored at the end")
    filled_percent: float = measured("%", "share of the reservoir that is filled at the end")


SITUATION = (
    "With demand at {{ arguments.demand_factor }} times today's and an inflow of "
    "{{ arguments.inflow_m3_per_day }} m3/day, "
)
TOOLS = {
    "run_scenario": Tool(
        name="run_scenario",
        description="How long the reservoir lasts at a constant demand and inflow.",
        arguments=Scenario,
        outputs=ScenarioOutputs,
        template=SITUATION
        + "the time until the reservoir is empty is {{ outputs.days_until_empty }} days.",
    ),
    "run_for_days": Tool(
        name="run_for_days",
        description="What is left in the reservoir after some days; what does not fit runs over.",
        arguments=ScenarioForDays,
        outputs=StateOutputs,
        template=SITUATION
        + "the reservoir is simulated for {{ arguments.days }} days. The water stored at the end "
        "is {{ outputs.stored_m3 }} m3. The share filled at the end is "
        "{{ outputs.filled_percent }} %.",
    ),
}


class Starter:
    """The simulator; its settings are those of params.yaml."""

    name = "starter"
    oracle = False
    tools = TOOLS

    def __init__(self, volume_m3: float = 2e6, demand_m3_per_day: float = 5e4) -> None:
        self.volume_m3 = volume_m3
        self.demand_m3_per_day = demand_m3_per_day

    def handbook(self) -> str:
        """Return all that a model is told before it asks."""
        return render_handbook(HANDBOOK, self.tools)

    def run(self, tool: str, arguments: Any, seed: int) -> ToolModel:
        """Run a tool; the same for the same arguments and seed."""
        del seed  # a model with chance begins its generator with it
        draw = self.demand_m3_per_day * arguments.demand_factor - arguments.inflow_m3_per_day
        if tool == "run_scenario":
            days = MAX_DAYS if draw <= 0 else min(MAX_DAYS, self.volume_m3 / draw)
            return ScenarioOutputs(days_until_empty=round(days, 1))
        stored = min(self.volume_m3, max(0.0, self.volume_m3 - draw * arguments.days))
        filled = 100 * stored / self.volume_m3
        return StateOutputs(stored_m3=round(stored), filled_percent=round(filled, 1))

    def fingerprint(self) -> str:
        """Hash all that can change a result: the code, and the settings."""
        settings = f"{self.volume_m3} {self.demand_m3_per_day}"
        return files_fingerprint(code_files(Path(__file__).parent), settings)
