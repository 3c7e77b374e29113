"""The emulator at run time: the local tools' projections from the committed network.

Same functions as ``temperature``: the past, and what aerosols do to the globe, are the physics'
own; projections of 2015-2100 and their changes are the network's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.base import ArgumentError, MissingEngineError, files_fingerprint
from simulators.climate import emulator_inputs, temperature
from simulators.climate.emulator_inputs import Inputs
from simulators.climate.grids import Array
from simulators.climate.loading import fields
from simulators.climate.temperature import Z90, Changed, Estimate

if TYPE_CHECKING:
    from simulators.climate.emulator_network import ResidualNeuralProcess

_HERE = Path(__file__).parent
WEIGHTS = _HERE / "weights" / "emulator.npz"
METRICS = _HERE / "weights" / "emulator.json"
CODE = ("emulator.py", "emulator_inputs.py", "emulator_network.py")
CHUNK = 50_000


@dataclass(frozen=True)
class Predicted:
    """Normal distributions of rows: ``coefficients`` (n, 1 + latents) of the standard normal
    latent, degC above 1979-2014, and the scatter around a member (n)."""

    coefficients: Array
    scatter: Array

    @property
    def mean(self) -> Array:
        """Means, degC."""
        return self.coefficients[:, 0]

    @property
    def sd(self) -> Array:
        """Standard deviations of a draw, degC."""
        between = np.square(self.coefficients[:, 1:]).sum(axis=1)
        return np.asarray(np.sqrt(between + np.square(self.scatter)))

    def __sub__(self, other: Predicted) -> Predicted:
        """A change of one member: the scatter, the same in both, drops out."""
        return Predicted(self.coefficients - other.coefficients, np.zeros_like(self.scatter))

    def estimate(self, level: Array | float = 0.0) -> Estimate:
        """Mean and range of 5-95 % above ``level``."""
        mean = np.asarray(level + self.mean)
        return Estimate(mean, mean - Z90 * self.sd, mean + Z90 * self.sd)


class Emulator:
    """The network with its weights. ``device`` is cpu, cuda, or auto (CUDA where there is one)."""

    def __init__(
        self, weights: Path = WEIGHTS, device: Literal["auto", "cpu", "cuda"] = "cpu"
    ) -> None:
        try:
            import torch
        except ImportError as error:
            raise MissingEngineError(f"the emulator needs torch: {error}") from None
        there = torch.cuda.is_available()
        if device == "cuda" and not there:
            raise ArgumentError("device is cuda, but there is no CUDA device here")
        self._device = torch.device("cuda" if there and device != "cpu" else "cpu")
        self._network = _load(weights).to(self._device)

    def predict(self, inputs: Inputs) -> Predicted:
        """The distribution at each row."""
        import torch

        from simulators.climate.emulator_network import Rows

        network = self._network
        parts = []
        with torch.inference_mode():
            for start in range(0, len(inputs), CHUNK):
                some = slice(start, start + CHUNK)
                given = (inputs.history, inputs.place, inputs.aerosol)
                rows = Rows(*(torch.from_numpy(a[some]).to(self._device) for a in given))
                decoded = network.decode(rows)
                whole = decoded.low + decoded.high
                mean = whole[:, :1] + whole[:, 1:] @ network.latent_mean[:, None]
                spread = whole[:, 1:] @ network.latent_factor
                parts.append(torch.cat([mean, spread, decoded.scatter[:, None]], dim=1).cpu())
        found = torch.cat(parts).numpy().astype(np.float64)
        return Predicted(found[:, :-1], found[:, -1])

    def history_temperature(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Estimate:
        """Temperature of years 1850-2014: the physics'."""
        return temperature.history_temperature(latitude, longitude, year, land)

    def future_temperature(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        scenario: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Estimate:
        """Temperature of years 2015-2100 without changes."""
        lat, lon, years, which = temperature.aligned(
            latitude, longitude, year, temperature.scenario_index(scenario)
        )
        zero = np.zeros(len(lat))
        inputs = Inputs(
            emulator_inputs.history(which, years, zero, zero),
            emulator_inputs.place(lat, lon, _land(lat, lon, land)),
            emulator_inputs.no_aerosol(len(lat)),
        )
        return self.predict(inputs).estimate(fields().observed(lat, lon))

    def diy_greenhouse(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        scenario: ArrayLike,
        *,
        delta_co2: ArrayLike,
        delta_ch4: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Changed:
        """Temperature with changed CO2 and CH4 emissions; ``global_change`` is the physics'."""
        lat, lon, years, which, co2, ch4 = temperature.aligned(
            latitude, longitude, year, temperature.scenario_index(scenario), delta_co2, delta_ch4
        )
        place = emulator_inputs.place(lat, lon, _land(lat, lon, land))
        none = emulator_inputs.no_aerosol(len(lat))
        changed = Inputs(emulator_inputs.history(which, years, co2, ch4), place, none)
        base = Inputs(emulator_inputs.history(which, years, 0 * co2, 0 * ch4), place, none)
        whole = temperature.global_temperature(years, which, delta_co2=co2, delta_ch4=ch4)
        return self._changed(changed, base, fields().observed(lat, lon), whole.change)

    def diy_aerosol(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        scenario: ArrayLike,
        *,
        delta_so2: ArrayLike,
        delta_bc: ArrayLike,
        modify_points: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Changed:
        """Temperature with SO2 and BC emissions changed around points [[longitude, latitude], ...];
        ``global_change`` is the physics'."""
        lat, lon, years, which, so2, bc = temperature.aligned(
            latitude, longitude, year, temperature.scenario_index(scenario), delta_so2, delta_bc
        )
        points = np.asarray(modify_points, dtype=np.float64).reshape(-1, 2)
        zero = np.zeros(len(lat))
        felt = emulator_inputs.aerosol(lat, lon, so2, bc, points)
        past = emulator_inputs.history(which, years, zero, zero)
        place = emulator_inputs.place(lat, lon, _land(lat, lon, land))
        base = Inputs(past, place, emulator_inputs.no_aerosol(len(lat)))
        whole = temperature.global_aerosol_change(years, which, so2, bc, points)
        return self._changed(Inputs(past, place, felt), base, fields().observed(lat, lon), whole)

    def _changed(self, changed: Inputs, base: Inputs, level: Array, whole: Estimate) -> Changed:
        after, before = self.predict(changed), self.predict(base)
        return Changed(
            after.estimate(level), before.estimate(level), (after - before).estimate(), whole
        )


@lru_cache(maxsize=1)
def emulator() -> Emulator:
    """The committed emulator on the processor, loaded once a process."""
    return Emulator()


def fingerprint() -> str:
    """Hash of the emulator's code and weights."""
    if not WEIGHTS.is_file():
        raise _missing(WEIGHTS)
    return files_fingerprint([*(_HERE / name for name in CODE), WEIGHTS])


def save(network: ResidualNeuralProcess, path: Path) -> None:
    """Weights as arrays by name, sorted; no pickle, no times."""
    state = network.state_dict()
    with path.open("wb") as file:
        np.savez(file, **{name: state[name].numpy() for name in sorted(state)})


def _load(path: Path) -> ResidualNeuralProcess:
    import torch

    from simulators.climate.emulator_network import ResidualNeuralProcess

    if not path.is_file():
        raise _missing(path)
    network = ResidualNeuralProcess()
    try:
        with np.load(path, allow_pickle=False) as file:
            network.load_state_dict({name: torch.from_numpy(file[name]) for name in file.files})
    except (ValueError, RuntimeError, KeyError) as error:
        raise MissingEngineError(
            f"{path} does not fit this code: {error}. Train again with 'make train'"
        ) from None
    return network.eval()


def _missing(path: Path) -> MissingEngineError:
    return MissingEngineError(f"{path} is missing: get it from the source tree or by 'make train'")


def _land(lat: Array, lon: Array, land: ArrayLike | None) -> NDArray[np.bool_]:
    if land is None:
        return fields().is_land(lat, lon)
    return np.broadcast_to(np.asarray(land, dtype=np.bool_), lat.shape)
