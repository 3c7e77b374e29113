"""The power grid: the numbers of another engine, what is refused, and a missing engine."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from power_grid import PowerGrid
from simulators.base import ArgumentError, MissingEngineError, validate_call
from simulators.conformance import check

GRID = PowerGrid()


def run(tool: str, **arguments: Any) -> Any:
    return GRID.run(tool, validate_call(GRID, tool, arguments), 0)


def test_the_protocol_is_kept() -> None:
    assert [problem for found in check("power-grid") for problem in found.problems] == []


@pytest.mark.parametrize(
    ("situation", "lowest_pu", "at_bus", "fullest_percent", "line", "losses_mw", "import_mw"),
    [
        ({}, 0.9230, 11, 96.96, "2-3", 0.304, 45.046),
        ({"load_factor": 1.5}, 0.8465, 11, 158.69, "2-3", 0.794, 67.908),
        ({"solar_mw": 5.0}, 0.9814, 6, 72.36, "8-9", 0.102, 39.845),
        ({"load_factor": 0.3, "solar_mw": 8.0}, 1.0200, 1, 139.22, "8-9", 0.446, 5.869),
        ({"line_out": "3-8"}, 0.9658, 6, 47.00, "2-3", 0.120, 42.752),
        ({"ties_closed": True}, 0.9581, 6, 51.35, "2-3", 0.224, 44.966),
        ({"line_out": "1-2", "ties_closed": True}, 0.9047, 5, 83.49, "12-13", 0.461, 45.203),
    ],
)
def test_the_grid_has_the_numbers_that_pandapower_gives(
    situation: dict[str, Any],
    lowest_pu: float,
    at_bus: int,
    fullest_percent: float,
    line: str,
    losses_mw: float,
    import_mw: float,
) -> None:
    """Reference: pandapower 3.1.2 with pandas 2.3.3, ``runpp`` of ``create_cigre_network_mv``."""
    found = run("power_flow", **situation)
    assert (found.lowest_voltage_pu, found.lowest_voltage_bus) == (lowest_pu, at_bus)
    assert (found.highest_line_loading_percent, found.fullest_line) == (fullest_percent, line)
    assert (found.losses_mw, found.import_mw) == (losses_mw, import_mw)


def test_a_line_out_cuts_off_what_is_behind_it_unless_the_ties_are_closed() -> None:
    assert run("power_flow", line_out="3-8").unsupplied_mw == 2.11
    assert run("power_flow", line_out="3-8", solar_mw=5.0).unsupplied_mw == 2.11
    assert run("power_flow", line_out="3-8", ties_closed=True).unsupplied_mw == 0


def test_today_changes_nothing() -> None:
    found = run("compare_with_today").model_dump()
    assert [value for name, value in found.items() if "_change_" in name] == [0, 0, 0, 0]


@pytest.mark.parametrize("wish", [{"load_factor": 1.6}, {"line_out": "6-7"}, {"solar_bus": 0}])
def test_a_wish_out_of_range_is_refused(wish: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"refuses its arguments: {next(iter(wish))}"):
        run("power_flow", **wish)


def test_without_its_engine_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "power_grid_model", None)
    with pytest.raises(MissingEngineError, match="pip install power-grid-model"):
        run("power_flow")
    assert "line_out" in GRID.handbook()
