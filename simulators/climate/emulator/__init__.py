"""The emulator of the local tools' projections: a multi-fidelity residual neural process.

In the spirit of Niu et al. 2024 (arXiv:2402.18846): a neural process of the low fidelity, and one
of what the high fidelity adds to it. A function is one member of the ensemble. Two latents tell it:
``z_low`` from samples of the coarse field, ``z_high`` from samples of the residual. Decoders are
linear in the latents, with coefficients that depend on the inputs. So the prediction is a
normal distribution in closed form: nothing is sampled, and the same query has the same answer.

Low fidelity: coarse pattern times global warming. High fidelity: the full pattern at the place, the
regional response to aerosols, and scatter in proportion to the spread of the pattern.

The past, and what changes do to the globe (``global_change``), are the physics' own; projections of
2015-2100 and their changes are the network's. Torch takes seconds to import: whoever needs no
emulator imports nothing of this package.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from simulators.base import MissingEngineError
from simulators.climate.emulator import inputs
from simulators.climate.emulator.inputs import HISTORY_SIZE, PLACE_SIZE, Inputs
from simulators.climate.fields import Array, fields
from simulators.climate.temperature import (
    Z90,
    Changed,
    Estimate,
    Projections,
    Query,
    global_aerosol_change,
    global_temperature,
)

WEIGHTS = Path(__file__).parents[1] / "weights" / "emulator.npz"
CHUNK = 50_000

LOW, HIGH = 4, 4
"""Sizes of the two latents."""
TRUNK = 6
"""Learned functions of the place, beside the pattern itself."""
WIDTH = 64
SMALLEST_SD = 0.02
"""Floor of the scatter, degC."""


@dataclass(frozen=True)
class Rows:
    """``Inputs`` as tensors with any leading shape."""

    history: Tensor
    place: Tensor
    aerosol: Tensor


@dataclass(frozen=True)
class Decoded:
    """Coefficients of (1, z_low, z_high), degC, and the scatter's standard deviation.

    ``low`` is the coarse field, ``high`` what is added to it: shape (..., 1 + LOW + HIGH).
    """

    low: Tensor
    high: Tensor
    scatter: Tensor


class ResidualNeuralProcess(nn.Module):
    """Encoders and decoders of both fidelities; units are degC above 1979-2014.

    Only training encodes (``studies/climate/latents.py``); the encoders are in the weights.
    """

    history_mean: Tensor
    history_sd: Tensor
    place_mean: Tensor
    place_sd: Tensor
    latent_mean: Tensor
    latent_factor: Tensor

    def __init__(self) -> None:
        super().__init__()
        both = 1 + LOW + HIGH
        self.low = _Skip(HISTORY_SIZE, 1 + LOW)
        self.high = _Skip(HISTORY_SIZE, (1 + TRUNK) * both)
        self.trunk = _layers(PLACE_SIZE, TRUNK)
        self.felt = _Skip(HISTORY_SIZE + 2, 2 * both)
        self.scatter = _layers(HISTORY_SIZE, 1)
        self.encode_low = _layers(HISTORY_SIZE + 2, 2 * LOW)
        self.encode_high = _layers(HISTORY_SIZE + PLACE_SIZE + 3, 2 * HIGH)
        for name, size in (("history", HISTORY_SIZE), ("place", PLACE_SIZE)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_sd", torch.ones(size))
        self.register_buffer("latent_mean", torch.zeros(LOW + HIGH))
        self.register_buffer("latent_factor", torch.eye(LOW + HIGH))

    def decode(self, rows: Rows) -> Decoded:
        """Compute the coefficients at each row."""
        history, place = self.scaled(rows)
        pattern, coarse, spread = (rows.place[..., k, None] for k in range(3))
        low = coarse * self.low(history)
        basis = torch.cat([pattern - coarse, 0.1 * self.trunk(place)], dim=-1)
        high = self.high(history).unflatten(-1, (1 + TRUNK, -1))
        residual = (basis[..., None] * high).sum(dim=-2) + pattern * self.felt_at(rows)
        scatter = spread[..., 0] * nn.functional.softplus(self.scatter(history))[..., 0]
        return Decoded(
            nn.functional.pad(low, (0, HIGH)), residual, torch.hypot(scatter, _floor(scatter))
        )

    def felt_at(self, rows: Rows) -> Tensor:
        """Compute coefficients of the response to aerosol changes, per unit of the pattern."""
        history, _ = self.scaled(rows)
        felt, whole = rows.aerosol[..., :2], rows.aerosol[..., 2:]
        per_part: Tensor = self.felt(torch.cat([history, whole], dim=-1)).unflatten(-1, (2, -1))
        return (felt[..., None] * per_part).sum(dim=-2)

    def scaled(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Scale history and place of each row to order one."""
        history = (rows.history - self.history_mean) / self.history_sd
        return history, (rows.place - self.place_mean) / self.place_sd


class _Skip(nn.Module):
    """A linear map plus layers: what is nearly linear stays so where nothing was seen."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.straight = nn.Linear(inputs, outputs)
        self.bent = _layers(inputs, outputs)
        nn.init.normal_(self.straight.weight, std=0.02)
        nn.init.zeros_(self.straight.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        result: Tensor = self.straight(inputs) + 0.3 * self.bent(inputs)
        return result


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, WIDTH),
        nn.SiLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.SiLU(),
        nn.Linear(WIDTH, outputs),
    )


def _floor(like: Tensor) -> Tensor:
    return torch.full_like(like, SMALLEST_SD)


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
        """Compute the change of one member: the scatter, the same in both, drops out."""
        return Predicted(self.coefficients - other.coefficients, np.zeros_like(self.scatter))

    def estimate(self, level: Array | float = 0.0) -> Estimate:
        """Return mean and range of 5-95 % above ``level``."""
        mean = np.asarray(level + self.mean)
        return Estimate(mean, mean - Z90 * self.sd, mean + Z90 * self.sd)


class Emulator(Projections):
    """The network with its weights, on the processor."""

    def __init__(self, weights: Path = WEIGHTS) -> None:
        self._network = _load(weights)

    def predict(self, given: Inputs) -> Predicted:
        """Compute the distribution at each row."""
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
        predicted = torch.cat(parts).numpy().astype(np.float64)
        return Predicted(predicted[:, :-1], predicted[:, -1])

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
    """Load the committed emulator, once a process."""
    return Emulator()


def _load(path: Path) -> ResidualNeuralProcess:
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
    """Make inputs with CO2 and CH4 emissions changed by so many percent, aerosols unchanged."""
    return Inputs(
        inputs.history(query.scenario, query.year, co2, ch4),
        inputs.place(query.latitude, query.longitude, query.land),
        inputs.no_aerosol(len(query.latitude)),
    )


def _level(query: Query) -> Array:
    return fields().observed(query.latitude, query.longitude)
