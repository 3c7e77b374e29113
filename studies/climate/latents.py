"""What samples of the fields say about the emulator's latents; only training asks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from simulators.climate.emulator import ResidualNeuralProcess, Rows


@dataclass(frozen=True)
class Normal:
    """Mean and standard deviation of a latent."""

    mean: Tensor
    sd: Tensor


def embed_low(network: ResidualNeuralProcess, rows: Rows, coarse_degc: Tensor) -> Tensor:
    """Samples (functions, points) of the coarse field as ``pooled`` takes them."""
    history, _ = network.scaled(rows)
    seen = torch.cat([history, rows.place[..., 1:2], coarse_degc[..., None]], dim=-1)
    embedded: Tensor = network.encode_low(seen)
    return embedded


def embed_high(network: ResidualNeuralProcess, rows: Rows, residual_degc: Tensor) -> Tensor:
    """The same for samples of what the high fidelity adds to the low."""
    history, place = network.scaled(rows)
    felt = rows.aerosol[..., :2]
    seen = torch.cat([history, place, felt, residual_degc[..., None]], dim=-1)
    embedded: Tensor = network.encode_high(seen)
    return embedded


def pooled(seen: Tensor, kept: Tensor) -> Normal:
    """A latent from embedded samples (functions, points, 2 x size): the mean over the points
    where ``kept`` is 1 and not 0; the unit normal for a function without any."""
    count = kept.sum(dim=1, keepdim=True)
    mean, raw = (seen * kept[..., None]).sum(dim=1).div(count.clamp(min=1)).chunk(2, dim=-1)
    some = (count > 0).float()
    sd = 0.01 + 0.99 * torch.sigmoid(raw)
    return Normal(some * mean, some * sd + (1 - some))


def apply(coefficients: Tensor, latent: Tensor) -> Tensor:
    """Values at a latent of shape (..., LOW + HIGH), broadcast over points."""
    return coefficients[..., 0] + (coefficients[..., 1:] * latent).sum(dim=-1)
