"""The water network: what a day gives, what is refused, and what is left behind."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from simulators.base import ArgumentError, MissingEngineError, validate_call
from simulators.conformance import check
from water_network import WaterNetwork

WATER = WaterNetwork()


def run(tool: str, **arguments: Any) -> Any:
    return WATER.run(tool, validate_call(WATER, tool, arguments), 0)


def test_the_protocol_is_kept() -> None:
    assert [problem for found in check("water-network") for problem in found.problems] == []


def test_an_ordinary_day() -> None:
    got, ran = run("pressures"), run("pump_and_tank")
    assert got.delivered_percent == 100
    assert 70 < got.lowest_pressure_m < got.mean_pressure_m < got.highest_pressure_m < 100
    # The levels between which Net1's own controls hold its tank: 110 and 140 feet.
    assert 33.5 < ran.lowest_tank_level_m < ran.highest_tank_level_m < 42.7
    # What customers use (69.4 l/s) is what the pump gives and the tank loses: 15.39 m wide.
    lost_m3 = (36.576 - ran.final_tank_level_m) * 3.14159 * 15.3924**2 / 4
    assert ran.pump_flow_l_per_s + lost_m3 / 86.4 == pytest.approx(69.4, abs=0.1)


def test_what_the_arguments_do() -> None:
    assert run("pressures", demand_factor=1.5).lowest_pressure_m < 70
    thirst = run("pressures", demand_factor=2.0)
    assert 90 < thirst.delivered_percent < 100
    assert run("pressures", closed_pipe="121").lowest_pressure_junction == "31"
    assert run("pump_and_tank", pump_speed=0.8).pump_running_h > 16


@pytest.mark.parametrize("wish", [{"demand_factor": 2.1}, {"closed_pipe": "10"}])
def test_a_wish_out_of_range_is_refused(wish: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"pressures refuses its arguments: {next(iter(wish))}"):
        run("pressures", **wish)


def test_runs_in_threads_agree_and_leave_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    factors = [0.5, 0.8, 1.1, 1.4] * 4
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda one: run("pressures", demand_factor=one), factors))
    assert found == [run("pressures", demand_factor=one) for one in factors]
    assert list(tmp_path.iterdir()) == []


def test_without_its_engine_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wntr", None)
    with pytest.raises(MissingEngineError, match="pip install wntr"):
        run("pressures")
    assert "closed_pipe" in WATER.handbook()
