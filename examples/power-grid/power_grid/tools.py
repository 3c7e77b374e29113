"""What can be asked of the power grid, and what comes back."""

from __future__ import annotations

from power_grid.grid import LineOut
from simulators.base import Tool, ToolModel, measured


class Situation(ToolModel):
    """The state of the grid at one moment; the defaults are today's."""

    load_factor: float = measured(
        "factor", "Demand of all customers against today's.", default=1.0, ge=0.2, le=1.5
    )
    solar_mw: float = measured(
        "MW", "Solar power that is fed in at one bus; today none.", default=0.0, ge=0.0, le=10.0
    )
    solar_bus: int = measured("-", "The bus that it is fed in at.", default=9, ge=1, le=14)
    line_out: LineOut = measured(
        "-", "The one line that is out of service, by its ends.", default="none"
    )
    ties_closed: bool = measured(
        "-", "Whether the ties 6-7, 4-11 and 8-14 are closed; today they are open.", default=False
    )


class Flow(ToolModel):
    """A power flow. Voltages are in per unit of the nominal voltage."""

    lowest_voltage_pu: float = measured("pu", "Lowest voltage at any supplied 20 kV bus.")
    lowest_voltage_bus: int = measured("-", "The bus that has it.")
    highest_voltage_pu: float = measured("pu", "Highest voltage at any supplied 20 kV bus.")
    highest_voltage_bus: int = measured("-", "The bus that has it.")
    highest_line_loading_percent: float = measured("%", "Current of the fullest line, of its most.")
    fullest_line: str = measured("-", "The line that has it.")
    transformer_1_loading_percent: float = measured("%", "Power of the transformer at bus 1.")
    transformer_2_loading_percent: float = measured("%", "Power of the transformer at bus 12.")
    losses_mw: float = measured("MW", "Power lost in lines and transformers.")
    import_mw: float = measured("MW", "Power taken from the 110 kV grid; negative: given to it.")
    unsupplied_mw: float = measured("MW", "Demand at buses that are cut off.")


class Change(ToolModel):
    """A situation against today's: each value, and the difference from today's."""

    lowest_voltage_pu: float = measured("pu", "Lowest voltage at any supplied 20 kV bus.")
    lowest_voltage_change_pu: float = measured("pu", "Its difference from today's.")
    highest_line_loading_percent: float = measured("%", "Current of the fullest line, of its most.")
    highest_line_loading_change_points: float = measured(
        "percentage points", "Its difference from today's."
    )
    losses_mw: float = measured("MW", "Power lost in lines and transformers.")
    losses_change_percent: float = measured("%", "Its change, in percent of today's losses.")
    import_mw: float = measured("MW", "Power taken from the 110 kV grid.")
    import_change_mw: float = measured("MW", "Its difference from today's.")


_SITUATION = """\
The grid with demand at {{ arguments.load_factor }} times today's, \
{% if arguments.solar_mw %}{{ arguments.solar_mw }} MW of solar power at bus \
{{ arguments.solar_bus }}{% else %}no solar power{% endif %}, \
{% if arguments.line_out == 'none' %}every line in service{% else %}\
line {{ arguments.line_out }} out of service{% endif %} and \
the ties {{ 'closed' if arguments.ties_closed else 'open' }}.
"""
_FLOW = """\
The lowest voltage is {{ '%.4f' | format(outputs.lowest_voltage_pu) }} pu.
The bus with the lowest voltage is bus {{ outputs.lowest_voltage_bus }}.
The highest voltage is {{ '%.4f' | format(outputs.highest_voltage_pu) }} pu.
The bus with the highest voltage is bus {{ outputs.highest_voltage_bus }}.
The highest line loading is {{ outputs.highest_line_loading_percent }} %.
The fullest line is line {{ outputs.fullest_line }}.
The loading of transformer 1 is {{ outputs.transformer_1_loading_percent }} %.
The loading of transformer 2 is {{ outputs.transformer_2_loading_percent }} %.
The losses are {{ outputs.losses_mw }} MW.
The import from the 110 kV grid is {{ outputs.import_mw }} MW.
The unsupplied demand is {{ outputs.unsupplied_mw }} MW.
"""
_CHANGE = """\
The lowest voltage is {{ '%.4f' | format(outputs.lowest_voltage_pu) }} pu.
The change of the lowest voltage is {{ '%+.4f' | format(outputs.lowest_voltage_change_pu) }} pu.
The highest line loading is {{ outputs.highest_line_loading_percent }} %.
The change of the highest line loading is \
{{ '%+.2f' | format(outputs.highest_line_loading_change_points) }} percentage points.
The losses are {{ outputs.losses_mw }} MW.
The change of the losses is {{ '%+.2f' | format(outputs.losses_change_percent) }} %.
The import from the 110 kV grid is {{ outputs.import_mw }} MW.
The change of the import is {{ '%+.3f' | format(outputs.import_change_mw) }} MW.
"""

TOOLS = {
    "power_flow": Tool(
        name="power_flow",
        description="Voltages, loadings, losses and import of the grid in one situation.",
        arguments=Situation,
        outputs=Flow,
        template=_SITUATION + _FLOW,
    ),
    "compare_with_today": Tool(
        name="compare_with_today",
        description="What a situation changes against the grid of today.",
        arguments=Situation,
        outputs=Change,
        template=_SITUATION + _CHANGE,
    ),
}
