"""The emulator: its committed weights, and its place behind the tools."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from simulators.base import MissingEngineError, ToolModel, validate_call
from simulators.climate import ClimateSimulator
from simulators.climate.emulator import Emulator
from simulators.climate.fields import fields
from simulators.climate.simulator import __file__ as simulator_file
from simulators.climate.temperature import PHYSICS
from simulators.climate.warming import SCENARIOS
from studies.climate.samples import draw

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


def test_one_query_and_a_batch_give_the_same(emulator: Emulator) -> None:
    lat, lon, years, which = queries(64)
    batch = emulator.future_temperature(lat, lon, years, which)
    for k in range(0, 64, 7):
        one = emulator.future_temperature(lat[k], lon[k], years[k], which[k])
        for name in ("mean", "low", "high"):
            assert getattr(one, name)[0] == pytest.approx(getattr(batch, name)[k], abs=1e-4)


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
    (copied / "training").mkdir()
    (copied / "training" / "assets.py").write_text("")
    (copied / "validate.py").write_text("")
    (copied / "new_physics.py").unlink()
    assert fingerprints() == weighed


def test_missing_and_foreign_weights_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingEngineError, match="make train"):
        Emulator(tmp_path / "none.npz")
    np.savez(tmp_path / "foreign.npz", a=np.zeros(3))
    with pytest.raises(MissingEngineError, match="does not fit"):
        Emulator(tmp_path / "foreign.npz")


def test_the_mean_state_is_the_observed_one(emulator: Emulator) -> None:
    """Elevation enters with the observed field, as in the physics."""
    at = np.array([46.5, 46.5]), np.array([8.0, 9.5])
    found = emulator.future_temperature(*at, 2015, "ssp245").mean
    own = PHYSICS.future_temperature(*at, 2015, "ssp245").mean
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
