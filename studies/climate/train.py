"""Train the emulator and measure it where it was not trained:
``python -m studies.climate.train``.

Parameters are the section ``climate_emulator`` of studies/params.yaml. Writes the weights and
the held-out errors into simulators/climate/weights/. Same parameters, machine and threads: same
bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from simulators.climate.emulator import HIGH, LOW, WEIGHTS, Emulator, ResidualNeuralProcess, Rows
from simulators.climate.emulator.inputs import Inputs
from studies.climate.evaluation import SETTINGS, evaluate
from studies.climate.latents import Normal, apply, embed_high, embed_low, pooled
from studies.climate.samples import draw
from studies.commands import pick_device, read_section, report, training_parser

SECTION = "climate_emulator"
SMALL_PART = 1e-3
"""Aerosol changes below this part of the world's count less in training."""


class Training(BaseModel):
    """How to train."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(ge=0)
    epochs: int = Field(ge=1)
    steps_an_epoch: int = Field(ge=1)
    settings: int = Field(ge=100, description="random settings of the simulator, six places each")
    functions: int = Field(ge=2, description="members a step")
    points: int = Field(ge=16, description="rows a member and step")
    learning_rate: float = Field(gt=0)
    precision: Literal["fp32", "bf16"]
    device: Literal["auto", "cpu", "cuda"]
    threads: int = Field(ge=1, description="of the processor")


def train(given: Training) -> ResidualNeuralProcess:
    """A trained network on the processor. Raises ArgumentError where CUDA is asked for in vain."""
    device = pick_device(given.device)
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    samples = draw("train", given.settings, given.seed)
    network = ResidualNeuralProcess().to(device)
    _standardise(network, samples.inputs)
    rows = to_rows(samples.inputs, device)
    truth = {
        name: torch.from_numpy(getattr(samples, name)).to(device)
        for name in ("coarse", "full", "felt", "scatter")
    }
    steps = given.epochs * given.steps_an_epoch
    optimiser = torch.optim.AdamW(network.parameters(), lr=given.learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, given.learning_rate, total_steps=steps, pct_start=0.1
    )
    random = torch.Generator().manual_seed(given.seed)
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=given.precision == "bf16")
    for epoch in range(given.epochs):
        total = 0.0
        for _ in range(given.steps_an_epoch):
            with autocast:
                loss = _loss(network, rows, truth, given, random)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / given.steps_an_epoch:.4f}", file=sys.stderr)
    network.eval()
    _take_members_as_prior(network, rows, truth, random)
    return network.cpu()


def to_rows(inputs: Inputs, device: torch.device) -> Rows:
    """The same as tensors."""
    return Rows(
        *(torch.from_numpy(a).to(device) for a in (inputs.history, inputs.place, inputs.aerosol))
    )


def save(network: ResidualNeuralProcess, path: Path) -> None:
    """Weights as arrays by name, sorted; no pickle, no times."""
    state = network.state_dict()
    with path.open("wb") as file:
        np.savez(file, **{name: state[name].numpy() for name in sorted(state)})


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong input, 1 for a failed run."""
    parser = training_parser("studies.climate.train", WEIGHTS)
    parser.add_argument("--held-out-settings", type=int, default=SETTINGS)
    given = parser.parse_args(argv)

    def errors() -> object:
        network = train(read_section(given.params, SECTION, Training))
        given.weights.parent.mkdir(parents=True, exist_ok=True)
        save(network, given.weights)
        found = evaluate(Emulator(given.weights), given.held_out_settings)
        given.metrics.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return found

    return report(errors)


def _loss(
    network: ResidualNeuralProcess,
    rows: Rows,
    truth: dict[str, Tensor],
    given: Training,
    random: torch.Generator,
) -> Tensor:
    """Negative evidence bound a point, and the error of the response to aerosols."""
    count, members = truth["full"].shape
    shape = (given.functions, given.points)
    at = torch.randint(count, shape, generator=random)
    member = torch.randint(members, (given.functions, 1), generator=random)
    some = Rows(rows.history[at], rows.place[at], rows.aerosol[at])
    coarse, felt = truth["coarse"][at, member], truth["felt"][at, member]
    noise = torch.randn(shape, generator=random).to(coarse.device) * truth["scatter"][at]
    full = truth["full"][at, member] + noise
    decoded = network.decode(some)
    kept = _context(shape, random).to(coarse.device)
    everything = torch.ones_like(kept)
    seen_low = embed_low(network, some, coarse)
    low_all = pooled(seen_low, everything)
    low = _sample(low_all, random)
    at_low = torch.nn.functional.pad(low, (0, HIGH))[:, None, :]
    residual = full - apply(decoded.low, at_low)
    seen_high = embed_high(network, some, residual)
    high_all = pooled(seen_high, everything)
    latent = torch.cat([low, _sample(high_all, random)], dim=-1)[:, None, :]
    of_low = apply(decoded.low, latent)
    values = of_low + apply(decoded.high, latent)
    fit = _nll(coarse, of_low, torch.full_like(of_low, 0.03)) + _nll(full, values, decoded.scatter)
    apart = _kl(low_all, pooled(seen_low, kept)) + _kl(high_all, pooled(seen_high, kept))
    response = some.place[..., 0] * apply(network.felt_at(some), latent)
    size = some.place[..., 0] * (some.aerosol[..., :2].abs().sum(dim=-1) + SMALL_PART)
    aerosol = (((response - felt) / size) ** 2).mean()
    return fit.mean() + apart.mean() / given.points + 10 * aerosol


def _context(shape: tuple[int, int], random: torch.Generator) -> Tensor:
    """A random part of each function's points, for one function in three none."""
    part = torch.rand(shape[0], 1, generator=random) ** 2
    none = torch.rand(shape[0], 1, generator=random) < 1 / 3
    return ((torch.rand(shape, generator=random) < part) & ~none).float()


def _sample(latent: Normal, random: torch.Generator) -> Tensor:
    noise = torch.randn(latent.mean.shape, generator=random).to(latent.mean.device)
    return latent.mean + latent.sd * noise


def _nll(truth: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    return 0.5 * ((truth - mean) / sd) ** 2 + sd.log()


def _kl(one: Normal, other: Normal) -> Tensor:
    ratio = (one.sd / other.sd) ** 2
    distance = ((one.mean - other.mean) / other.sd) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log()).sum(dim=-1)


@torch.no_grad()
def _take_members_as_prior(
    network: ResidualNeuralProcess, rows: Rows, truth: dict[str, Tensor], random: torch.Generator
) -> None:
    """Without context the latent is spread as the members' own latents are."""
    members = truth["full"].shape[1]
    at = torch.randint(len(truth["full"]), (1, 4096), generator=random).expand(members, -1)
    which = torch.arange(members)[:, None]
    some = Rows(rows.history[at], rows.place[at], rows.aerosol[at])
    decoded = network.decode(some)
    kept = torch.ones(at.shape, device=rows.history.device)
    low = pooled(embed_low(network, some, truth["coarse"][at, which]), kept)
    at_low = torch.nn.functional.pad(low.mean, (0, HIGH))[:, None, :]
    residual = truth["full"][at, which] - apply(decoded.low, at_low)
    high = pooled(embed_high(network, some, residual), kept)
    means = torch.cat([low.mean, high.mean], dim=-1)
    within = torch.cat([low.sd, high.sd], dim=-1).square().mean(dim=0)
    spread = torch.cov(means.T) + torch.diag(within)
    assert spread.shape == (LOW + HIGH, LOW + HIGH)
    network.latent_mean.copy_(means.mean(dim=0))
    network.latent_factor.copy_(torch.linalg.cholesky(spread))


def _standardise(network: ResidualNeuralProcess, inputs: Inputs) -> None:
    for name in ("history", "place"):
        values: np.ndarray = getattr(inputs, name)
        sd = np.maximum(values.std(axis=0), 1e-6)
        getattr(network, f"{name}_mean").copy_(torch.from_numpy(values.mean(axis=0)))
        getattr(network, f"{name}_sd").copy_(torch.from_numpy(sd))


if __name__ == "__main__":
    sys.exit(main())
