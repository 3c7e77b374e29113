"""`simulrag simulators verify`: recorded runs made again, and what counts as agreement."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from flows.cli.simulators import simulators_app
from simulators.conformance.verification import RecordedRun, differences, some_of
from tests.integration.projects import PARAMS
from tests.unit.simulators.recorded import FOLDER, SETTINGS, requests

ROOT = Path(__file__).resolve().parents[3]


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


def _project(folder: Path, monkeypatch: pytest.MonkeyPatch, warmer_degc: float) -> None:
    """A project of one domain whose recording says other temperatures."""
    params = yaml.safe_load(PARAMS.read_text())
    params["domains"] = ["climate"]
    params["simulators"] = {"climate": {"name": "climate"}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    call = {"latitude": 0.0, "longitude": 10.0, "year": 1990}
    request = {"tool": "history_temperature", "arguments": call, "seed": 0}
    outputs = {"latitude": 0.0, "longitude": 10.0, "place": None}
    shown = {"temperature": 24.76, "temperature_low": 24.72, "temperature_high": 24.81}
    outputs |= {f"{name}_degc": value + warmer_degc for name, value in shown.items()}
    run = {"request": json.dumps(request), "response": json.dumps(outputs)}
    (folder / "data" / "recorded").mkdir(parents=True)
    pl.DataFrame([{"key": "", "kind": "simulator", **run}]).write_parquet(
        folder / "data" / "recorded" / "answer-climate.parquet"
    )
    monkeypatch.chdir(folder)


def test_a_difference_is_named_and_exits_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _project(tmp_path, monkeypatch, warmer_degc=0.5)
    done = CliRunner().invoke(simulators_app, ["verify"])
    assert done.exit_code == 1
    assert "different: history_temperature.temperature_degc: recorded" in done.output


def test_agreement_exits_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _project(tmp_path, monkeypatch, warmer_degc=0.0)
    done = CliRunner().invoke(simulators_app, ["verify"])
    assert done.exit_code == 0, done.output
    assert "climate: 1 of 1 recorded runs made again came out equal" in done.output


@pytest.mark.slow
def test_the_recorded_runs_agree_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    requests("answer", "urban", "simulator")
    monkeypatch.chdir(FOLDER.parents[1])
    done = CliRunner().invoke(simulators_app, ["verify"])
    assert done.exit_code == 0, done.output
    for domain in SETTINGS:
        assert f"{domain}: 3 of 3 recorded runs made again" in done.output
