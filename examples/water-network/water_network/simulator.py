"""EPANET's example network 1 behind SimulRAG's protocol, run by wntr.

Source: Rossman 2000, EPANET 2 Users Manual, "Net1"; wntr (Klise et al. 2017) ships and runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simulators.base import (
    RunError,
    ToolModel,
    code_files,
    engine,
    engine_version,
    files_fingerprint,
    render_handbook,
)
from water_network.tools import TOOLS, Operation, Pressures, PumpAndTank

HERE = Path(__file__).parent
PUMP, TANK = "9", "2"
STEP_S = 300
FULL_SUPPLY_M = 20.0
"""The pressure from which on a junction gets all that it asks for; less below it, none at 0."""


class WaterNetwork:
    """One day of a small drinking water network."""

    name = "water-network"
    oracle = False
    tools = TOOLS

    def handbook(self) -> str:
        """Prose and parameter tables, as Markdown."""
        return render_handbook((HERE / "handbook.md").read_text(encoding="utf-8"), self.tools)

    def run(self, tool: str, arguments: Operation, seed: int) -> ToolModel:
        """Simulate a day. The network knows no chance, so the seed changes nothing."""
        del seed
        measure = {"pressures": _pressures, "pump_and_tank": _pump_and_tank}[tool]
        return measure(*_simulate(arguments))

    def fingerprint(self) -> str:
        """Hash of this code and of wntr's version, which the network and EPANET come with."""
        return files_fingerprint(code_files(HERE), engine_version("wntr"))

    def examples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Calls to try the tools with."""
        return {tool: [{"demand_factor": 1.2}, {"closed_pipe": "121"}] for tool in self.tools}


def _simulate(operation: Operation) -> tuple[Any, Any]:
    """wntr's network as it was run, and its results (SI units) at every five minutes."""
    wntr = engine("wntr")
    network = wntr.network.WaterNetworkModel("Net1")
    network.options.time.hydraulic_timestep = network.options.time.report_timestep = STEP_S
    hydraulic = network.options.hydraulic
    hydraulic.demand_multiplier = operation.demand_factor
    hydraulic.demand_model, hydraulic.required_pressure = "PDD", FULL_SUPPLY_M
    network.get_link(PUMP).base_speed = operation.pump_speed
    if operation.closed_pipe != "none":
        network.get_link(operation.closed_pipe).initial_status = "Closed"
    with TemporaryDirectory() as folder:  # EPANET's own files would go to the working directory
        simulator = wntr.sim.EpanetSimulator(network)
        try:
            results = simulator.run_sim(file_prefix=str(Path(folder) / "day"))
        except wntr.epanet.exceptions.EpanetException as error:
            raise RunError(f"EPANET did not solve the network: {error}") from None
    return network, results


def _pressures(network: Any, results: Any) -> Pressures:
    import wntr

    pressure = results.node["pressure"][network.junction_name_list]
    delivered = results.node["demand"][network.junction_name_list].to_numpy().sum()
    asked = wntr.metrics.expected_demand(network)[network.junction_name_list].to_numpy().sum()
    junction = pressure.min().idxmin()
    return Pressures(
        lowest_pressure_m=_rounded(pressure[junction].min()),
        lowest_pressure_junction=junction,
        lowest_pressure_at_h=_rounded(pressure[junction].idxmin() / 3600),
        highest_pressure_m=_rounded(pressure.to_numpy().max()),
        mean_pressure_m=_rounded(pressure.to_numpy().mean()),
        delivered_percent=_rounded(100 * delivered / asked),
    )


def _pump_and_tank(network: Any, results: Any) -> PumpAndTank:
    import wntr

    flow, level = results.link["flowrate"], results.node["pressure"][TANK]
    watts = wntr.metrics.pump_power(flow, results.node["head"], network)[PUMP]
    day = slice(None, -1)  # the last value is midnight again
    return PumpAndTank(
        pump_flow_l_per_s=_rounded(1000 * flow[PUMP].iloc[day].mean()),
        pump_running_h=_rounded((flow[PUMP].iloc[day] > 1e-6).sum() * STEP_S / 3600),
        pump_energy_kwh=_rounded(watts.iloc[day].sum() * STEP_S / 3.6e6),
        lowest_tank_level_m=_rounded(level.min()),
        highest_tank_level_m=_rounded(level.max()),
        final_tank_level_m=_rounded(level.iloc[-1]),
    )


def _rounded(value: Any) -> float:
    """Two decimals: EPANET computes in single precision."""
    return round(float(value), 2)
