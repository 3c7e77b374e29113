"""What can be asked of the water network, and what comes back."""

from __future__ import annotations

from typing import Literal

from simulators.base import Tool, ToolModel, measured


class Operation(ToolModel):
    """How the network is run for a day; the defaults are an ordinary day."""

    demand_factor: float = measured(
        "factor", "Demand of all customers against an ordinary day.", default=1.0, ge=0.5, le=2.0
    )
    pump_speed: float = measured(
        "factor", "Speed of the pump against its rated speed.", default=1.0, ge=0.8, le=1.2
    )
    closed_pipe: Literal[
        "none", "11", "12", "21", "22", "31", "110", "111", "112", "113", "121", "122"
    ] = measured("-", "The one pipe that is closed all day, by its number.", default="none")


class Pressures(ToolModel):
    """Pressures in metres of water column, at the nine junctions over 24 hours."""

    lowest_pressure_m: float = measured("m", "Lowest pressure at any junction and time.")
    lowest_pressure_junction: str = measured("-", "The junction that has it.")
    lowest_pressure_at_h: float = measured("h", "When it is first that low, from midnight.")
    highest_pressure_m: float = measured("m", "Highest pressure at any junction and time.")
    mean_pressure_m: float = measured("m", "Mean pressure over junctions and time.")
    delivered_percent: float = measured("%", "Water delivered, of the water asked for.")


class PumpAndTank(ToolModel):
    """Flows and levels over 24 hours."""

    pump_flow_l_per_s: float = measured("l/s", "Mean flow of the pump, standstill included.")
    pump_running_h: float = measured("h", "Hours for which the pump runs.")
    pump_energy_kwh: float = measured("kWh", "Energy that the pump takes, at 75 % efficiency.")
    lowest_tank_level_m: float = measured("m", "Lowest water level in the tank.")
    highest_tank_level_m: float = measured("m", "Highest water level in the tank.")
    final_tank_level_m: float = measured("m", "Water level in the tank after 24 hours.")


_CONDITIONS = (
    "One day with demand at {{ arguments.demand_factor }} times an ordinary day's, the pump at "
    "{{ arguments.pump_speed }} times its rated speed and "
    "{% if arguments.closed_pipe == 'none' %}all pipes open{% else %}"
    "pipe {{ arguments.closed_pipe }} closed{% endif %}.\n"
)
_PRESSURES = """\
The lowest pressure is {{ outputs.lowest_pressure_m }} m.
The junction with the lowest pressure is junction {{ outputs.lowest_pressure_junction }}.
The lowest pressure is first reached {{ outputs.lowest_pressure_at_h }} h after midnight.
The highest pressure is {{ outputs.highest_pressure_m }} m.
The mean pressure is {{ outputs.mean_pressure_m }} m.
Of the water asked for, {{ outputs.delivered_percent }} % is delivered.
"""
_PUMP_AND_TANK = """\
The mean pump flow is {{ outputs.pump_flow_l_per_s }} l/s.
The pump is running for {{ outputs.pump_running_h }} h.
The pump energy is {{ outputs.pump_energy_kwh }} kWh.
The lowest tank level is {{ outputs.lowest_tank_level_m }} m.
The highest tank level is {{ outputs.highest_tank_level_m }} m.
The final tank level is {{ outputs.final_tank_level_m }} m.
"""


TOOLS = {
    "pressures": Tool(
        name="pressures",
        description="Pressures at the customers and the water that they get, over a day.",
        arguments=Operation,
        outputs=Pressures,
        template=_CONDITIONS + _PRESSURES,
    ),
    "pump_and_tank": Tool(
        name="pump_and_tank",
        description="Flow, hours and energy of the pump, and the tank's level, over a day.",
        arguments=Operation,
        outputs=PumpAndTank,
        template=_CONDITIONS + _PUMP_AND_TANK,
    ),
}
