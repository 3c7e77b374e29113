"""The emulator: its committed weights, its errors where it was not trained, and its place behind
the tools."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from simulators.base import ArgumentError, MissingEngineError, ToolModel, validate_call
from simulators.climate import ClimateSimulator
from simulators.climate import temperature as physics
from simulators.climate.emulator import WEIGHTS, Emulator, save
from simulators.climate.emulator.inputs import history
from simulators.climate.emulator.network import ResidualNeuralProcess
from simulators.climate.loading import fields
from simulators.climate.simulator import __file__ as simulator_file
from simulators.climate.training.emulator import SECTION, Training, main
from simulators.climate.training.evaluation import PARTS, part_errors
from simulators.climate.training.samples import HELD_OUT_SCENARIO, draw, held_out_region
from simulators.climate.warming import SCENARIOS
from simulators.commands import PARAMS, read_section

SIMULATOR = Path(simulator_file)
PLACE = {"latitude": 52.52, "longitude": 13.41, "year": 2074, "scenario": "ssp245"}


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    torch.set_num_threads(1)
    return Emulator()


def ask(climate: ClimateSimulator, tool: str, **arguments: object) -> ToolModel:
    return climate.run(tool, validate_call(climate, tool, arguments), 0)


def queries(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    lat = np.degrees(np.arcsin(random.uniform(-1, 1, count)))
    years = random.integers(2015, 2101, count)
    return lat, random.uniform(-180, 180, count), years, random.integers(0, 4, count)


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


def test_one_query_and_a_batch_give_the_same(emulator: Emulator) -> None:
    lat, lon, years, which = queries(64)
    batch = emulator.future_temperature(lat, lon, years, which)
    for k in range(0, 64, 7):
        one = emulator.future_temperature(lat[k], lon[k], years[k], which[k])
        for name in ("mean", "low", "high"):
            assert getattr(one, name)[0] == pytest.approx(getattr(batch, name)[k], abs=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_gpu_and_cpu_give_the_same(emulator: Emulator) -> None:
    samples = draw("both", 300, 6)
    cpu, gpu = emulator.predict(samples.inputs), Emulator(device="cuda").predict(samples.inputs)
    assert np.abs(cpu.mean - gpu.mean).max() <= 1e-4
    assert np.abs(cpu.sd - gpu.sd).max() <= 1e-4


def test_cuda_where_there_is_none_is_told() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ArgumentError, match="no CUDA device"):
        Emulator(device="cuda")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_change_is_exactly_the_baseline(emulator: Emulator, scenario: str) -> None:
    years = np.arange(2015, 2101)
    gases = emulator.diy_greenhouse(48.9, 2.3, years, scenario, delta_co2=0.0, delta_ch4=0.0)
    none = {"delta_so2": 0.0, "delta_bc": 0.0, "modify_points": [[2.3, 48.9]]}
    aerosols = emulator.diy_aerosol(48.9, 2.3, years, scenario, **none)
    for found in (gases, aerosols):
        assert (found.change.mean == 0).all()
        assert (found.temperature.mean == found.baseline.mean).all()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_more_greenhouse_gas_warms_and_more_sulphur_cools(
    emulator: Emulator, scenario: str
) -> None:
    steps = np.linspace(-100, 100, 41)
    for gas in ("delta_co2", "delta_ch4"):
        other = {"delta_co2": 0.0, "delta_ch4": 0.0, gas: steps}
        found = emulator.diy_greenhouse(28.6, 77.2, 2070, scenario, **other).change.mean
        assert (np.diff(found) > 0).all()
    points = [[77.2, 28.6]]
    found = emulator.diy_aerosol(
        28.6, 77.2, 2070, scenario, delta_so2=steps, delta_bc=0.0, modify_points=points
    ).change.mean
    assert (np.diff(found) < 0).all()


def test_it_is_near_the_physics_behind_the_tools() -> None:
    own, other = ClimateSimulator(), ClimateSimulator(backend="emulator")
    changed = {**PLACE, "delta_CO2": 20.0, "delta_CH4": -10.0}
    for tool, arguments in (("future_temperature", PLACE), ("diy_greenhouse", changed)):
        one, two = (ask(c, tool, **arguments).model_dump() for c in (own, other))
        assert one["temperature_degc"] == pytest.approx(two["temperature_degc"], abs=0.25)
        assert one["temperature_degc"] != two["temperature_degc"]
    aerosol = {**PLACE, "delta_SO2": -20.0, "delta_BC": 5.0, "modify_points": [[13.4, 52.5]]}
    one, two = (ask(c, "diff_diy_aerosol_mean", **aerosol).model_dump() for c in (own, other))
    assert one["global_mean_change_degc"] == two["global_mean_change_degc"]
    past = {"latitude": 52.52, "longitude": 13.41, "year": 1990}
    assert ask(own, "history_temperature", **past) == ask(other, "history_temperature", **past)


def test_only_the_emulator_puts_its_files_into_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copied = tmp_path / "climate"
    shutil.copytree(SIMULATOR.parent, copied, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr("simulators.climate.simulator._HERE", copied)
    backends: tuple[Literal["physics", "emulator"], ...] = ("physics", "emulator")

    def fingerprints() -> list[str]:
        return [ClimateSimulator(backend).fingerprint() for backend in backends]

    before = fingerprints()
    assert before[0] != before[1]
    with (copied / "weights" / "emulator.npz").open("ab") as file:
        file.write(b"\0")
    weighed = fingerprints()
    assert weighed[0] == before[0]
    assert weighed[1] != before[1]
    (copied / "new_physics.py").write_text("")
    assert not set(fingerprints()) & {*before, *weighed}
    (copied / "training" / "assets.py").write_text("")
    (copied / "validate.py").write_text("")
    (copied / "new_physics.py").unlink()
    assert fingerprints() == weighed


def test_an_unknown_backend_is_told() -> None:
    with pytest.raises(ArgumentError, match=r"'magic'.*physics, emulator"):
        ClimateSimulator(backend="magic")  # type: ignore[arg-type]


def test_missing_and_foreign_weights_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingEngineError, match="make train"):
        Emulator(tmp_path / "none.npz")
    np.savez(tmp_path / "foreign.npz", a=np.zeros(3))
    with pytest.raises(MissingEngineError, match="does not fit"):
        Emulator(tmp_path / "foreign.npz")


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


def test_the_mean_state_is_the_observed_one(emulator: Emulator) -> None:
    """Elevation enters with the observed field, as in the physics."""
    at = np.array([46.5, 46.5]), np.array([8.0, 9.5])
    found = emulator.future_temperature(*at, 2015, "ssp245").mean
    own = physics.future_temperature(*at, 2015, "ssp245").mean
    assert np.abs(found - own).max() < 0.3
    assert np.abs(found - fields().observed(*at)).max() < 2


def test_rows_beyond_a_chunk_are_the_same(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = draw("regions", 20, 1).inputs
    whole = emulator.predict(samples)
    monkeypatch.setattr("simulators.climate.emulator.CHUNK", 7)
    parts = emulator.predict(samples)
    assert np.abs(whole.mean - parts.mean).max() < 1e-4
    assert len(parts.mean) == len(samples)
