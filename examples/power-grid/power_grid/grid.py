"""The CIGRE medium voltage grid in power-grid-model: changed, solved and read.

Source of grid.json (SI units, in power-grid-model's own format): CIGRE Task Force C6.04.02 2014,
"Benchmark systems for network integration of renewable and distributed energy resources", the
European medium voltage grid, with the numbers of pandapower's ``create_cigre_network_mv``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from simulators.base import RunError, engine

GRID = Path(__file__).with_name("grid.json")
LineOut = Literal[
    "none",
    "1-2",
    "2-3",
    "3-4",
    "4-5",
    "5-6",
    "7-8",
    "8-9",
    "9-10",
    "10-11",
    "3-8",
    "12-13",
    "13-14",
]
LINES, TIES = get_args(LineOut)[1:], ("6-7", "4-11", "8-14")
"""Lines by the buses at their ends, and the ties after them, in the order of grid.json."""
MW = 1e6


@dataclass(frozen=True)
class State:
    """A solved grid: by bus, without those that are cut off, and by line."""

    voltage_pu: Mapping[int, float]
    line_percent: Mapping[str, float]
    transformer_percent: tuple[float, float]
    losses_mw: float
    import_mw: float
    unsupplied_mw: float


def solve(
    *, load_factor: float, solar_mw: float, solar_bus: int, line_out: LineOut, ties_closed: bool
) -> State:
    """The balanced power flow, by Newton and Raphson's method. Raises SimulatorError."""
    engine("power_grid_model", "power-grid-model")
    from power_grid_model import PowerGridModel
    from power_grid_model.errors import PowerGridError
    from power_grid_model.utils import json_deserialize

    grid = json_deserialize(GRID.read_text(encoding="utf-8"))
    load, sun = grid["sym_load"], grid["sym_gen"]
    load["p_specified"] *= load_factor
    load["q_specified"] *= load_factor
    sun["node"], sun["p_specified"] = solar_bus, solar_mw * MW
    names = (*LINES, *TIES)
    in_service = [name != line_out for name in names]
    grid["line"]["from_status"] = in_service  # an open tie is open at one end, and stays charged
    grid["line"]["to_status"] = [
        there and (ties_closed or name not in TIES)
        for name, there in zip(names, in_service, strict=True)
    ]
    try:
        solved = PowerGridModel(grid).calculate_power_flow()
    except PowerGridError as error:
        raise RunError(f"the power flow has no solution here: {str(error).strip()}") from None
    node, line, transformer = (solved[name] for name in ("node", "line", "transformer"))
    dead = node["energized"][load["node"]] == 0
    first, second = (100 * float(share) for share in transformer["loading"])
    return State(
        voltage_pu={
            int(bus): float(pu)
            for bus, pu, live in zip(node["id"], node["u_pu"], node["energized"], strict=True)
            if live
        },
        line_percent={
            name: 100 * float(share) for name, share in zip(names, line["loading"], strict=True)
        },
        transformer_percent=(first, second),
        losses_mw=sum(float((of["p_from"] + of["p_to"]).sum()) for of in (line, transformer)) / MW,
        import_mw=float(solved["source"]["p"][0]) / MW,
        unsupplied_mw=float(load["p_specified"][dead].sum()) / MW,
    )
