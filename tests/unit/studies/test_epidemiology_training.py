"""The epidemiology emulator's training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from simulators.epidemiology.emulator import load_emulator
from studies.commands import PARAMS, read_section
from studies.epidemiology.evaluation import evaluate
from studies.epidemiology.scenarios import sample_scenarios, simulate
from studies.epidemiology.train import SECTION, Training, main, save, train

SMALL = {
    "scenarios": 10,
    "members": 4,
    "epochs": 1,
    "places": 2,
    "batch": 2,
    "context": 3,
    "width": 8,
    "processes": 1,
    "held_out": 8,
    "held_out_members": 2,
    "device": "cpu",
}


def settings(folder: Path, **changes: object) -> Path:
    file = folder / "params.yaml"
    base = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))[SECTION]
    file.write_text(yaml.safe_dump({SECTION: {**base, **SMALL, **changes}}), encoding="utf-8")
    return file


@pytest.mark.slow
def test_scenarios_it_has_not_seen_come_out_like_the_models() -> None:
    rng = np.random.default_rng(77)
    report = evaluate(load_emulator(), sample_scenarios(12, rng), members=20, seed=900_000)
    found = report["emulator"]
    assert isinstance(found, dict)
    assert found["log_peak_mae"] <= 0.05
    assert found["peak_week_mae"] <= 0.4
    assert 0.8 <= found["peak_coverage_90"] <= 0.98
    assert 0.8 <= found["daily_coverage_90"] <= 0.98


@pytest.mark.slow
def test_training_ends_in_the_same_bytes_and_states_its_errors(tmp_path: Path) -> None:
    file = settings(tmp_path)
    for name in ("a", "b"):
        weights, metrics = tmp_path / f"{name}.npz", tmp_path / f"{name}.json"
        command = ["--params", str(file), "--weights", str(weights), "--metrics", str(metrics)]
        assert main(command) == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    report = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert report["emulator"]["n"] == 8
    loaded = load_emulator(tmp_path / "a.npz")
    save(loaded, tmp_path / "c.npz")
    assert (tmp_path / "c.npz").read_bytes() == (tmp_path / "a.npz").read_bytes()


@pytest.mark.slow
def test_active_learning_adds_scenarios_of_large_spread(tmp_path: Path) -> None:
    plain = train(read_section(settings(tmp_path), SECTION, Training))
    active = train(read_section(settings(tmp_path, active_rounds=1), SECTION, Training))
    assert not torch.equal(plain.context.static, active.context.static)


def test_simulated_moments_do_not_depend_on_the_processes() -> None:
    scenarios = sample_scenarios(3, np.random.default_rng(1))
    one = simulate(scenarios, 2, 5, 1)
    two = simulate(scenarios, 2, 5, 2)
    assert np.array_equal(one.mean, two.mean, equal_nan=True)
    assert np.array_equal(one.variance, two.variance, equal_nan=True)
    weeks = [conditions.days // 7 for conditions in scenarios]
    assert (~np.isnan(one.mean[:, :, 0])).sum(axis=1).tolist() == weeks


@pytest.mark.parametrize(
    "changes", [{"epochs": 0}, {"device": "tpu"}, {"active_rounds": 9}, {"unknown": 1}]
)
def test_wrong_settings_are_named(
    tmp_path: Path, changes: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--params", str(settings(tmp_path, **changes))]) == 2
    assert next(iter(changes)) in capsys.readouterr().err
