"""Ranges over runs: how much they hold, and that simulators say them only when they are set to."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simulators.base import ArgumentError, Spread, Tool, ToolModel, measured, validate_call
from simulators.registry import load
from simulators.spread import central_range, spread_over, with_spread
from tests.unit.simulators.recorded import SETTINGS

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "climate": (
        "diy_greenhouse",
        {
            **{"latitude": 60.2, "longitude": 24.9, "year": 2060, "scenario": "ssp245"},
            **{"delta_CO2": -20.0, "delta_CH4": 0.0},
        },
    ),
    "epidemiology": (
        "forecast",
        {
            **{"states": ["Ohio"], "start_date": "2022-10-05", "r0": 1.9, "seasonality": "none"},
            **{"prior_immunity_percent": 30, "metric": "hospital incidence"},
        },
    ),
    "urban": ("run_scenario", {"speed_factor": 0.8}),
}


class Given(ToolModel):
    limit: float


class Returned(ToolModel):
    time_s: float | None = measured("s", "Time of a trip.")
    trend: str = "up"


PLAIN = Tool("run", "Runs.", Given, Returned, "Time: {{ outputs.time_s }} s.")
TOOL = with_spread(PLAIN, ["time_s"], ["trend"])


def returned(*times: float | None) -> list[Returned]:
    return [Returned(time_s=time, trend="up" if time != 3 else "down") for time in times]


def test_a_range_holds_nine_of_ten_further_values() -> None:
    assert central_range(range(19)) == (0, 18)
    with pytest.raises(ValueError, match="needs 19 values"):
        central_range(range(18))
    for runs in (19, 20, 45):
        rng, inside = random.Random(runs), 0
        for _ in range(4000):
            low, high = central_range([rng.expovariate(1) for _ in range(runs)])
            inside += low <= rng.expovariate(1) <= high
        assert inside / 4000 == pytest.approx(0.9, abs=0.015)


def test_outputs_their_text_and_the_declaration() -> None:
    assert TOOL.spreads == {
        "time_s": Spread(0.9, "time_low_s", "time_high_s"),
        "trend": Spread(0.9, share="trend_share"),
    }
    found = spread_over(TOOL, returned(9.0)[0], returned(*range(1, 20)))
    assert found.model_dump() == {
        **{"time_s": 9.0, "trend": "up", "trend_share": 0.947},
        **{"time_low_s": 1.0, "time_high_s": 19.0},
    }
    assert TOOL.describe(Given(limit=1), found) == (
        "Time: 9.0 s.\n90 % range (Time of a trip): 1 to 19 s.\nIn 95 % of the runs (trend): up."
    )
    unknown = spread_over(TOOL, returned(9.0)[0], returned(None, *range(1, 19)))
    assert unknown.model_dump()["time_low_s"] is None
    assert "range" not in TOOL.describe(Given(limit=1), unknown)
    assert PLAIN.spreads == {}


@pytest.mark.parametrize(
    "domain", ["climate", "epidemiology", pytest.param("urban", marks=pytest.mark.slow)]
)
def test_a_simulator_gives_ranges_only_where_it_is_set_to(domain: str) -> None:
    plain, ranged = load(domain, SETTINGS[domain]), load(domain, {**SETTINGS[domain], "spread": 1})
    tool, arguments = CALLS[domain]
    assert plain.fingerprint() != ranged.fingerprint()
    assert not any(one.spreads for one in plain.tools.values())
    assert "## Ranges" in ranged.handbook()
    assert "## Ranges" not in plain.handbook()
    one, more = (s.run(tool, validate_call(s, tool, arguments), 0) for s in (plain, ranged))
    text = ranged.tools[tool].describe(validate_call(ranged, tool, arguments), more)
    values, spreads = more.model_dump(), ranged.tools[tool].spreads
    assert spreads
    for name, spread in spreads.items():
        if spread.share:
            assert 0 <= values[spread.share] <= 1
        else:
            assert values[spread.low] <= values[name] <= values[spread.high], name
    assert "90 % range" in text
    if domain == "climate":
        before = one.model_dump()
        assert values["temperature_low_degc"] < before["temperature_low_degc"] - 0.5
        assert values["change_low_degc"] == before["change_low_degc"]


def test_an_ensemble_too_small_for_ranges_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at least 19"):
        load("epidemiology", {"members": 18, "spread": True})
