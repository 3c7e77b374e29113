"""`simulrag simulators verify`: recorded runs made again, and what counts as agreement."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from flows.cli.sources import simulators_app
from simulators.conformance import RecordedRun, differences, some_of
from tests.integration.projects import PARAMS, change_params


@pytest.mark.parametrize(
    ("recorded", "ours", "named"),
    [
        ({"a": 14.49}, {"a": 14.49}, []),
        ({"a": 14.49}, {"a": 14.5}, []),
        ({"a": 14.49}, {"a": 14.51}, ["a"]),
        ({"a": 3_000_000_000.11}, {"a": 3_000_000_500.11}, []),
        ({"a": 111}, {"a": 113}, ["a"]),
        ({"a": "stable", "b": None}, {"a": "declining", "b": None}, ["a"]),
        ({"a": None}, {"a": 0.0}, ["a"]),
        ({"a": True}, {"a": False}, ["a"]),
        ({"a": [{"b": 1.5}, {"b": 2.5}]}, {"a": [{"b": 1.5}, {"b": 2.9}]}, ["a[1].b"]),
        ({"a": 1.5}, {"b": 1.5}, ["a", "b"]),
    ],
)
def test_one_step_of_the_last_decimal_is_allowed(
    recorded: dict[str, Any], ours: dict[str, Any], named: list[str]
) -> None:
    assert [line.partition(":")[0] for line in differences(recorded, ours)] == named


def test_runs_come_of_as_many_tools_as_there_are() -> None:
    runs = [RecordedRun(tool, {"x": x}, 0, {}) for tool in "ab" for x in range(3)]
    assert [(run.tool, run.arguments["x"]) for run in some_of(runs)] == [
        ("a", 0),
        ("b", 0),
        ("a", 1),
    ]
    assert some_of([]) == []


@pytest.mark.parametrize(
    ("warmer_degc", "code", "words"),
    [
        (0.5, 1, "different: history_temperature.temperature_degc: recorded"),
        (0.0, 0, "climate: 1 of 1 recorded runs made again came out equal"),
    ],
)
def test_a_recording_is_held_to_this_machine(
    warmer_degc: float, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project of one domain whose recording says what the engine does, or other temperatures."""
    shutil.copy(PARAMS, tmp_path / "params.yaml")
    change_params(tmp_path, domains=["climate"], simulators={"climate": {"name": "climate"}})
    call = {"latitude": 0.0, "longitude": 10.0, "year": 1990}
    request = {"tool": "history_temperature", "arguments": call, "seed": 0}
    outputs = {"latitude": 0.0, "longitude": 10.0, "place": None}
    shown = {"temperature": 24.76, "temperature_low": 24.72, "temperature_high": 24.81}
    outputs |= {f"{name}_degc": value + warmer_degc for name, value in shown.items()}
    run = {"request": json.dumps(request), "response": json.dumps(outputs)}
    recorded = tmp_path / "data" / "recorded"
    recorded.mkdir(parents=True)
    rows = pl.DataFrame([{"key": "", "kind": "simulator", **run}])
    rows.write_parquet(recorded / "answer-climate.parquet")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(simulators_app, ["verify"])
    assert done.exit_code == code, done.output
    assert words in done.output
