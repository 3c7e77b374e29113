"""The emulator at run time: the local tools' projections from the committed network.

The past, and what changes do to the globe (``global_change``), are the physics' own; projections of
2015-2100 and their changes are the network's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simulators.base import MissingEngineError
from simulators.climate.emulator import inputs
from simulators.climate.emulator.inputs import Inputs
from simulators.climate.grids import Array
from simulators.climate.loading import fields
from simulators.climate.temperature import (
    Z90,
    Changed,
    Estimate,
    Projections,
    Query,
    global_aerosol_change,
    global_temperature,
)

if TYPE_CHECKING:
    from simulators.climate.emulator.network import ResidualNeuralProcess

WEIGHTS = Path(__file__).parents[1] / "weights" / "emulator.npz"
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


class Emulator(Projections):
    """The network with its weights, on the processor."""

    def __init__(self, weights: Path = WEIGHTS) -> None:
        try:
            import torch  # noqa: F401 the message names what is missing
        except ImportError as error:
            raise MissingEngineError(f"the emulator needs torch: {error}") from None
        self._network = _load(weights)

    def predict(self, given: Inputs) -> Predicted:
        """The distribution at each row."""
        import torch

        from simulators.climate.emulator.network import Rows

        network = self._network
        parts = []
        with torch.inference_mode():
            for start in range(0, len(given), CHUNK):
                some = slice(start, start + CHUNK)
                arrays = (given.history, given.place, given.aerosol)
                rows = Rows(*(torch.from_numpy(a[some]) for a in arrays))
                decoded = network.decode(rows)
                whole = decoded.low + decoded.high
                mean = whole[:, :1] + whole[:, 1:] @ network.latent_mean[:, None]
                spread = whole[:, 1:] @ network.latent_factor
                parts.append(torch.cat([mean, spread, decoded.scatter[:, None]], dim=1))
        found = torch.cat(parts).numpy().astype(np.float64)
        return Predicted(found[:, :-1], found[:, -1])

    def _future(self, query: Query) -> Estimate:
        zero = np.zeros(len(query.latitude))
        return self.predict(_inputs(query, zero, zero)).estimate(_level(query))

    def _greenhouse(self, query: Query, co2: Array, ch4: Array) -> Changed:
        changed, base = _inputs(query, co2, ch4), _inputs(query, 0 * co2, 0 * ch4)
        whole = global_temperature(query.year, query.scenario, delta_co2=co2, delta_ch4=ch4)
        return self._changed(changed, base, _level(query), whole.change)

    def _aerosol(self, query: Query, so2: Array, bc: Array, points: Array) -> Changed:
        zero = np.zeros(len(query.latitude))
        base = _inputs(query, zero, zero)
        felt = inputs.aerosol(query.latitude, query.longitude, so2, bc, points)
        whole = global_aerosol_change(query.year, query.scenario, so2, bc, points)
        return self._changed(replace(base, aerosol=felt), base, _level(query), whole)

    def _changed(self, changed: Inputs, base: Inputs, level: Array, whole: Estimate) -> Changed:
        after, before = self.predict(changed), self.predict(base)
        return Changed(
            after.estimate(level), before.estimate(level), (after - before).estimate(), whole
        )


@lru_cache(maxsize=1)
def emulator() -> Emulator:
    """The committed emulator, loaded once a process."""
    return Emulator()


def _load(path: Path) -> ResidualNeuralProcess:
    import torch

    from simulators.climate.emulator.network import ResidualNeuralProcess

    if not path.is_file():
        raise MissingEngineError(
            f"{path} is missing: get it from the source tree or by 'make train'"
        )
    network = ResidualNeuralProcess()
    try:
        with np.load(path, allow_pickle=False) as file:
            network.load_state_dict({name: torch.from_numpy(file[name]) for name in file.files})
    except (ValueError, RuntimeError, KeyError) as error:
        raise MissingEngineError(
            f"{path} does not fit this code: {error}. Train again with 'make train'"
        ) from None
    return network.eval()


def _inputs(query: Query, co2: Array, ch4: Array) -> Inputs:
    """Inputs with CO2 and CH4 emissions changed by so many percent, aerosols unchanged."""
    return Inputs(
        inputs.history(query.scenario, query.year, co2, ch4),
        inputs.place(query.latitude, query.longitude, query.land),
        inputs.no_aerosol(len(query.latitude)),
    )


def _level(query: Query) -> Array:
    return fields().observed(query.latitude, query.longitude)
