"""A multi-fidelity residual neural process for local warming.

In the spirit of Niu et al. 2024 (arXiv:2402.18846): a neural process of the low fidelity, and one
of what the high fidelity adds to it. A function is one member of the ensemble. Two latents tell it:
``z_low`` from samples of the coarse field, ``z_high`` from samples of the residual. Decoders are
linear in the latents, with coefficients that depend on the inputs. So the prediction is a
normal distribution in closed form: nothing is sampled, and the same query has the same answer.

Low fidelity: coarse pattern times global warming. High fidelity: the full pattern at the place, the
regional response to aerosols, and scatter in proportion to the spread of the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from simulators.climate.emulator.inputs import HISTORY_SIZE, PLACE_SIZE

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
        """Coefficients at each row."""
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
        """Coefficients of the response to aerosol changes, per unit of the pattern."""
        history, _ = self.scaled(rows)
        felt, whole = rows.aerosol[..., :2], rows.aerosol[..., 2:]
        per_part: Tensor = self.felt(torch.cat([history, whole], dim=-1)).unflatten(-1, (2, -1))
        return (felt[..., None] * per_part).sum(dim=-2)

    def scaled(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """History and place of each row, each of order one."""
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
