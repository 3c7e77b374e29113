"""The CIGRE medium voltage grid behind SimulRAG's protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from power_grid.grid import GRID, State, solve
from power_grid.tools import TOOLS, Change, Flow, Situation
from simulators.base import (
    ToolModel,
    code_files,
    engine_version,
    files_fingerprint,
    render_handbook,
)

HERE = Path(__file__).parent


class PowerGrid:
    """The power flow of one moment in a medium voltage grid."""

    name = "power-grid"
    oracle = False
    tools = TOOLS

    def handbook(self) -> str:
        """Prose and parameter tables, as Markdown."""
        return render_handbook((HERE / "handbook.md").read_text(encoding="utf-8"), self.tools)

    def run(self, tool: str, arguments: Situation, seed: int) -> ToolModel:
        """Solve the grid. It knows no chance, so the seed changes nothing."""
        del seed
        flow = _flow(solve(**arguments.model_dump()))
        if tool == "power_flow":
            return flow
        return _change(flow, _flow(solve(**Situation().model_dump())))

    def fingerprint(self) -> str:
        """Hash of this code, the grid's numbers and the engine's version."""
        return files_fingerprint([*code_files(HERE), GRID], engine_version("power-grid-model"))

    def examples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Calls to try the tools with."""
        sunny = {"load_factor": 0.3, "solar_mw": 8.0}
        return {tool: [{"load_factor": 1.2}, {"line_out": "3-8"}, sunny] for tool in self.tools}


def _flow(state: State) -> Flow:
    voltage_pu = {bus: pu for bus, pu in state.voltage_pu.items() if bus > 0}  # bus 0 has 110 kV
    lowest, highest = (choose(voltage_pu, key=voltage_pu.__getitem__) for choose in (min, max))
    fullest = max(state.line_percent, key=state.line_percent.__getitem__)
    first, second = state.transformer_percent
    return Flow(
        lowest_voltage_pu=round(voltage_pu[lowest], 4),
        lowest_voltage_bus=lowest,
        highest_voltage_pu=round(voltage_pu[highest], 4),
        highest_voltage_bus=highest,
        highest_line_loading_percent=round(state.line_percent[fullest], 2),
        fullest_line=fullest,
        transformer_1_loading_percent=round(first, 2),
        transformer_2_loading_percent=round(second, 2),
        losses_mw=round(state.losses_mw, 3),
        import_mw=round(state.import_mw, 3),
        unsupplied_mw=round(state.unsupplied_mw, 3),
    )


def _change(flow: Flow, today: Flow) -> Change:
    loading = flow.highest_line_loading_percent
    return Change(
        lowest_voltage_pu=flow.lowest_voltage_pu,
        lowest_voltage_change_pu=round(flow.lowest_voltage_pu - today.lowest_voltage_pu, 4),
        highest_line_loading_percent=loading,
        highest_line_loading_change_points=round(loading - today.highest_line_loading_percent, 2),
        losses_mw=flow.losses_mw,
        losses_change_percent=round(100 * (flow.losses_mw / today.losses_mw - 1), 2),
        import_mw=flow.import_mw,
        import_change_mw=round(flow.import_mw - today.import_mw, 3),
    )
