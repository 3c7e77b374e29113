"""Train the emulator and measure it where it was not trained:
``python -m studies.epidemiology.train``.

Simulates scenarios with the mechanistic model, fits the neural process to the members' weekly
moments, writes the weights and the held-out errors into simulators/epidemiology/weights/.
Parameters are the section ``epidemiology_emulator`` of studies/params.yaml; ``make train`` runs
it as a DVC stage of its own (``simulators/dvc.yaml``). Same parameters and machine: same bytes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor

from simulators.epidemiology.emulator import CONTEXT, WEIGHTS, Emulator
from simulators.epidemiology.emulator.network import Context, Distribution, NeuralProcess
from studies.commands import pick_device, read_section, report, training_parser
from studies.epidemiology.courses import Courses, courses, spread_of
from studies.epidemiology.evaluation import evaluate
from studies.epidemiology.scenarios import Learned, sample_scenarios, simulate

SECTION = "epidemiology_emulator"
FLOOR = 0.01
"""Relative standard deviation added to every likelihood: no gain from hitting the mean closer."""
LIMIT = 50.0
"""Squared error over variance up to which the likelihood is Gaussian."""
CANDIDATES = 4
"""Scenarios offered for each one that active learning takes."""


class Training(BaseModel):
    """How the emulator is trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(ge=0)
    scenarios: int = Field(ge=10, description="simulated in all rounds together")
    members: int = Field(ge=2)
    epochs: int = Field(ge=1, description="passes over the scenarios in the last round")
    places: int = Field(ge=1, le=51, description="places a scenario shows in one epoch")
    batch: int = Field(ge=2, description="scenarios a step")
    learning_rate: float = Field(gt=0)
    width: int = Field(ge=4)
    context: int = Field(ge=1, description="simulated courses kept beside the weights")
    active_rounds: int = Field(
        ge=0, description="rounds that add the scenarios of the largest predicted spread"
    )
    precision: Literal["fp32", "bf16"] = Field(description="of the products, on a GPU")
    device: Literal["auto", "cpu", "cuda"]
    threads: int = Field(ge=1, description="of the processor, for the fit")
    processes: int = Field(ge=1, description="that simulate; results do not depend on it")
    held_out: int = Field(ge=1, description="scenarios of the evaluation")
    held_out_members: int = Field(ge=2)

    @model_validator(mode="after")
    def _enough(self) -> Self:
        first = self.scenarios // (self.active_rounds + 1)
        if first < max(self.batch, self.context):
            raise ValueError(
                f"a round of {first} scenarios is smaller than batch or context: fewer "
                "active_rounds or more scenarios"
            )
        return self


def train(settings: Training) -> Emulator:
    """Simulate and fit. The same settings give the same emulator on the same kind of machine."""
    rng = np.random.default_rng([settings.seed, 0])
    each = settings.scenarios // (settings.active_rounds + 1)
    first = settings.scenarios - settings.active_rounds * each
    learned = simulate(
        sample_scenarios(first, rng), settings.members, settings.seed * 10**6, settings.processes
    )
    for done in range(settings.active_rounds):
        epochs = max(1, settings.epochs * len(learned.scenarios) // settings.scenarios)
        emulator = fit(learned, settings, epochs)
        pool = sample_scenarios(CANDIDATES * each, rng)
        spread = spread_of(emulator, pool)
        wanted = [pool[k] for k in np.sort(np.argsort(-spread, kind="stable")[:each])]
        start = settings.seed * 10**6 + first + done * each
        learned = learned.joined(simulate(wanted, settings.members, start, settings.processes))
    return fit(learned, settings, settings.epochs)


def fit(learned: Learned, settings: Training, epochs: int) -> Emulator:
    """Fit a fresh network to the simulated moments by maximum likelihood."""
    device = pick_device(settings.device)
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng([settings.seed, 1])
    data = courses(learned).to(device)
    network = NeuralProcess(settings.width).to(device)
    count = len(learned.scenarios)
    steps = epochs * math.ceil(count / settings.batch)
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=settings.learning_rate, total_steps=steps
    )
    reduced = settings.precision == "bf16" and device.type == "cuda"
    for _ in range(epochs):
        order = rng.permutation(count)
        for start in range(0, count, settings.batch):
            rows = order[start : start + settings.batch]
            seen = rng.integers(0, settings.context + 1)
            others = order[(start + settings.batch + np.arange(seen)) % count]
            places = np.sort(rng.permutation(51)[: settings.places])
            context = data.context(others, rng.integers(0, 51, size=len(others)))
            target = data.take(np.repeat(rows, len(places)), np.tile(places, len(rows)))
            with torch.autocast(device.type, torch.bfloat16, enabled=reduced):
                predicted = network(target.static, target.weekly, network.remember(context))
            loss = negative_log_likelihood(predicted, target)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    kept = np.sort(rng.permutation(count)[: settings.context])
    context = data.context(kept, rng.integers(0, 51, size=len(kept)))
    return Emulator(network.cpu().eval(), Context(*(part.cpu() for part in context)))


def negative_log_likelihood(predicted: Distribution, target: Courses) -> Tensor:
    """Mean over weeks of the members' Gaussian likelihood, given their moments."""
    relative = (
        predicted.amplitude.float() ** 2 + (predicted.shift.float() * target.slope) ** 2 + FLOOR**2
    )
    mean = target.expected * torch.exp(predicted.bias.float() + relative / 2)
    variance = mean * target.noise[:, None] + mean**2 * relative + 1e-4
    error = (target.variance + (target.mean - mean) ** 2) / variance
    # Beyond the limit only a logarithm: a course gone astray must not outweigh all the others.
    error = torch.where(
        error > LIMIT, LIMIT * (1 + torch.log(error.clamp(min=LIMIT) / LIMIT)), error
    )
    terms = 0.5 * (torch.log(variance) + error)
    return (terms * target.mask).sum() / target.mask.sum()


def save(emulator: Emulator, path: Path) -> None:
    """Write a file that is the same to the byte for the same numbers."""
    arrays = dict(emulator.network.state_dict())
    arrays |= {CONTEXT + name: part for name, part in emulator.context._asdict().items()}
    np.savez(path, **{name: arrays[name].cpu().numpy() for name in sorted(arrays)})


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong settings, 1 for a failed run."""
    parser = training_parser("studies.epidemiology.train", WEIGHTS)
    given = parser.parse_args(argv)

    def errors() -> object:
        settings = read_section(given.params, SECTION, Training)
        emulator = train(settings)
        given.weights.parent.mkdir(parents=True, exist_ok=True)
        save(emulator, given.weights)
        rng = np.random.default_rng([settings.seed, 2])
        found = evaluate(
            emulator,
            sample_scenarios(settings.held_out, rng),
            members=settings.held_out_members,
            seed=settings.seed * 10**6 + 500_000,
        )
        given.metrics.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return found

    return report(errors)


if __name__ == "__main__":
    sys.exit(main())
