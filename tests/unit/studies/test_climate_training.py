"""The climate emulator's training: what is held out, and its errors there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from simulators.base import ArgumentError
from simulators.climate.emulator import WEIGHTS, Emulator, ResidualNeuralProcess
from simulators.climate.emulator.inputs import history
from studies.climate.evaluation import PARTS, part_errors
from studies.climate.samples import HELD_OUT_SCENARIO, draw, held_out_region
from studies.climate.train import SECTION, Training, main, save
from studies.commands import PARAMS, pick_device, read_section


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    torch.set_num_threads(1)
    return Emulator()


@pytest.mark.parametrize("part", PARTS)
def test_errors_where_it_was_not_trained(emulator: Emulator, part: str) -> None:
    """The committed report says the same of ten times the settings."""
    report = json.loads(WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))[part]
    cheap = part_errors(emulator, PARTS[part], 200, 99)
    for found in (report, cheap):
        assert found["mae_degc"] <= 0.10
        assert 0.85 <= found["coverage_90"] <= 0.95
        assert found["change_sign_accuracy"] >= 0.95
    assert cheap["mae_degc"] == pytest.approx(report["mae_degc"], rel=0.5, abs=0.01)


def test_nothing_held_out_is_trained_on() -> None:
    train, scenario = draw("train", 100, 3), draw("scenario", 100, 3)
    zero = np.zeros(86)
    years = np.arange(2015, 2101)
    own = history(np.full(86, HELD_OUT_SCENARIO), years, zero, zero)
    known = {row.tobytes() for row in own}
    assert not known & {row.tobytes() for row in train.baseline_inputs.history}
    assert known >= {row.tobytes() for row in scenario.baseline_inputs.history}
    assert held_out_region(np.array([28.6, 48.9]), np.array([77.2, 2.3])).tolist() == [True, False]


def test_samples_are_what_the_simulator_says() -> None:
    samples = draw("scenario", 60, 4)
    changed = np.abs(samples.changed).max(axis=1) > 0
    same = samples.inputs.history == samples.baseline_inputs.history
    unchanged = same.all(axis=1) & (samples.inputs.aerosol == 0).all(axis=1)
    assert unchanged.any()
    assert not (changed & unchanged).any()
    zero = (samples.inputs.aerosol == 0).all(axis=1)
    assert (samples.felt[zero] == 0).all()
    assert (samples.felt[~zero].mean(axis=1) != 0).all()
    assert (samples.scatter > 0).mean() > 0.99


def test_cuda_where_there_is_none_is_told() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ArgumentError, match="no CUDA device"):
        pick_device("cuda")


def test_weights_are_small_and_saved_byte_for_byte(tmp_path: Path) -> None:
    assert WEIGHTS.stat().st_size < 2_000_000
    torch.manual_seed(0)
    network = ResidualNeuralProcess()
    save(network, tmp_path / "a.npz")
    save(network, tmp_path / "b.npz")
    hashes = {hashlib.sha256((tmp_path / n).read_bytes()).digest() for n in ("a.npz", "b.npz")}
    assert len(hashes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_short_training_runs_and_repeats(tmp_path: Path, precision: str) -> None:
    params = tmp_path / "params.yaml"
    params.write_text(
        "climate_emulator: {seed: 3, epochs: 1, steps_an_epoch: 3, settings: 100, functions: 4, "
        f"points: 32, learning_rate: 0.001, precision: {precision}, device: cpu, threads: 1}}\n",
        encoding="utf-8",
    )
    for name in ("a", "b"):
        files = {"--weights": f"{name}.npz", "--metrics": f"{name}.json"}
        paths = [str(part) for key, file in files.items() for part in (key, tmp_path / file)]
        assert main(["--params", str(params), "--held-out-settings", "20", *paths]) == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_wrong_parameters_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_section(PARAMS, SECTION, Training).epochs >= 1
    (tmp_path / "params.yaml").write_text("climate_emulator: {seed: -1}\n", encoding="utf-8")
    assert main(["--params", str(tmp_path / "params.yaml")]) == 2
    assert "climate_emulator cannot be read" in capsys.readouterr().err
