"""The simulator of docs/bring-your-own-simulator.md works as the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.base import ArgumentError, Simulator, handbook_with_guide, validate_call
from simulators.registry import load
from tests.unit.simulators.reservoir import install, source


@pytest.fixture
def reservoir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    install(tmp_path, monkeypatch, source())
    return load("reservoir", {"volume_m3": 3e6})


def test_it_runs_and_describes_itself(reservoir: Simulator) -> None:
    arguments = validate_call(reservoir, "draw_down", {"inflow_m3_per_day": 20000})
    outputs = reservoir.run("draw_down", arguments, seed=0)
    assert outputs.model_dump() == {"days_until_empty": 100.0}
    text = reservoir.tools["draw_down"].describe(arguments, outputs)
    assert "empty is 100.0 days" in text


def test_its_handbook_has_the_tables(reservoir: Simulator) -> None:
    handbook = reservoir.handbook()
    row = "| inflow_m3_per_day | number | m3/day | 0 to 1000000.0 | required | inflow from"
    assert row in handbook
    assert "| days_until_empty | number | days |" in handbook


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("drain", {}, "no tool 'drain'"),
        ("draw_down", {}, "inflow_m3_per_day"),
        ("draw_down", {"inflow_m3_per_day": -1}, "greater than or equal to 0"),
        ("draw_down", {"inflow_m3_per_day": float("nan")}, "finite"),
        ("draw_down", {"inflow_m3_per_day": 1, "colour": "red"}, "colour"),
    ],
)
def test_bad_calls_are_refused(
    reservoir: Simulator, tool: str, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        validate_call(reservoir, tool, arguments)


def test_without_a_guide_the_handbook_is_all(reservoir: Simulator) -> None:
    assert handbook_with_guide(reservoir) == reservoir.handbook()


def test_a_guide_stands_before_the_tools(
    reservoir: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(reservoir), "guide", lambda _: "## Ask\n\nFor days.\n", raising=False)
    prose, tools = reservoir.handbook().split("\n\n## Tools\n")
    assert handbook_with_guide(reservoir) == f"{prose}\n\n## Ask\n\nFor days.\n\n## Tools\n{tools}"
