"""The simulator: SimulRAG's own check of it, and numbers that are known by hand."""

import simulators.starter
from simulators.base import validate_call
from simulators.conformance import check

SIMULATOR = simulators.starter.Starter(volume_m3=1e6, demand_m3_per_day=4e4)


def test_the_protocol_is_kept() -> None:
    for looked_at in check("simulators.starter:Starter"):
        assert not looked_at.problems


def test_numbers_by_hand() -> None:
    dry = validate_call(SIMULATOR, "run_scenario", {"inflow_m3_per_day": 0})
    assert SIMULATOR.run("run_scenario", dry, 0).model_dump() == {"days_until_empty": 25.0}
    half = validate_call(SIMULATOR, "run_for_days", {"inflow_m3_per_day": 3e4, "days": 50})
    assert SIMULATOR.run("run_for_days", half, 0).model_dump() == {
        "stored_m3": 500000.0,
        "filled_percent": 50.0,
    }
