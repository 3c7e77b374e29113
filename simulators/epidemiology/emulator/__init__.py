"""The emulator: trajectories like those of the mechanistic model, from a trained network.

``emulate`` returns for each scenario what ``ensemble.run_ensemble`` returns for the chosen places;
summaries over them are the same code. The mean field of the named places is the baseline, the
neural process adds what it misses and how members spread, counts are drawn around that. Weights and
context are in ``weights/emulator.npz``, which ``studies/epidemiology/train.py`` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from simulators.base import MissingEngineError
from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.emulator.draws import draw, memory
from simulators.epidemiology.emulator.features import (
    place_features,
    scenario_features,
    slopes,
    week_features,
)
from simulators.epidemiology.emulator.mean_field import expected
from simulators.epidemiology.emulator.network import Context, Memory, NeuralProcess
from simulators.epidemiology.ensemble import Conditions
from simulators.epidemiology.places import load_places

WEIGHTS = Path(__file__).parents[1] / "weights" / "emulator.npz"
DECIMALS = 5
"""Of the network's outputs that are kept: what a batch's size or a thread changes is cut off."""
CONTEXT = "context."


@dataclass(frozen=True)
class Emulator:
    """A trained network and the simulated courses that it attends to."""

    network: NeuralProcess
    context: Context

    @cached_property
    def memory(self) -> Memory:
        """What the network makes of the context."""
        with torch.inference_mode():
            return self.network.remember(self.context)


def emulate(
    emulator: Emulator,
    scenarios: Sequence[Conditions],
    chosen: Sequence[Sequence[int]],
    members: int,
    seed: int,
) -> list[NDArray[np.int64]]:
    """(member, day, chosen place) of each scenario's metric. Deterministic in its arguments."""
    daily = [expected(one, places) for one, places in zip(scenarios, chosen, strict=True)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a network only pays for more
    try:
        weekly = predict(emulator, scenarios, chosen, daily)
    finally:
        torch.set_num_threads(threads)
    return [
        draw(
            curve,
            course,
            tuple(places),
            members=members,
            seed=seed,
            rho=memory(one.metric, DISEASE),
        )
        for one, places, curve, course in zip(scenarios, chosen, daily, weekly, strict=True)
    ]


def predict(
    emulator: Emulator,
    scenarios: Sequence[Conditions],
    chosen: Sequence[Sequence[int]],
    daily: Sequence[NDArray[np.float64]],
) -> list[NDArray[np.float64]]:
    """(3, week, chosen place) of each scenario: bias, amplitude, shift times slope.

    ``daily`` are the scenarios' mean fields, (day, chosen place).
    """
    found: list[NDArray[np.float64] | None] = [None] * len(scenarios)
    about = scenario_features(scenarios)
    populations = load_places().populations.astype(np.float64)
    for days in sorted({one.days for one in scenarios}):
        rows = [k for k, one in enumerate(scenarios) if one.days == days]
        places = [list(chosen[k]) for k in rows]
        sizes = [len(at) for at in places]
        everywhere = np.concatenate(places)
        static = np.hstack([about[rows].repeat(sizes, axis=0), place_features()[everywhere]])
        curves = np.concatenate([daily[k] for k in rows], axis=1)
        features = week_features(curves, populations[everywhere])
        with torch.inference_mode():
            outputs = emulator.network(
                torch.from_numpy(static), torch.from_numpy(features), emulator.memory
            )
        course = np.stack([part.numpy().T for part in outputs]).astype(np.float64)
        course[2] *= slopes(curves)
        ends = np.cumsum(sizes)[:-1]
        for k, part in zip(rows, np.split(course.round(DECIMALS), ends, axis=2), strict=True):
            found[k] = part
    return [part for part in found if part is not None]


@lru_cache(maxsize=2)
def load_emulator(path: Path = WEIGHTS) -> Emulator:
    """The trained emulator, on the CPU. Raises MissingEngineError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: torch.from_numpy(file[name]) for name in file.files}
        context = Context(**{name: arrays.pop(CONTEXT + name) for name in Context._fields})
        network = NeuralProcess(width=len(arrays["enter.bias"]))
        network.load_state_dict(arrays)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise MissingEngineError(
            f"the epidemiology emulator's weights ({path.name}) cannot be read: {error}; "
            "'make train' writes them, and backend: mechanistic needs none"
        ) from None
    return Emulator(network.eval(), context)
