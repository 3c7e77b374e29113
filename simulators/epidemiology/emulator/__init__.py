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
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from simulators.base import MissingEngineError
from simulators.epidemiology.arguments import Metric
from simulators.epidemiology.disease import DISEASE, Disease
from simulators.epidemiology.emulator.mean_field import expected
from simulators.epidemiology.emulator.network import (
    Context,
    Memory,
    NeuralProcess,
    place_features,
    scenario_features,
    slopes,
    week_features,
)
from simulators.epidemiology.ensemble import Conditions
from simulators.epidemiology.places import load_places

WEIGHTS = Path(__file__).parents[1] / "weights" / "emulator.npz"
DECIMALS = 5
"""Of the network's outputs that are kept: what a batch's size or a thread changes is cut off."""
CONTEXT = "context."
MAX_DAYS = 420
LARGE = 12.0
"""Above this expected count a draw is a rounded Gaussian, below it is exactly Poisson."""

MIDWEEK = 3.0
_ONE_OVER = 1.0 / np.maximum(np.arange(64), 1)
"""By count: a product costs a quarter of a division. Draws of mean ``LARGE`` end before 45."""


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
    """Draw each scenario's metric. Deterministic in its arguments.

    Args:
        emulator: the network and its context.
        scenarios: what each is run under.
        chosen: by scenario the indices of its places.
        members: how many are drawn.
        seed: a member of a seed and place has the same luck in every scenario.

    Returns:
        By scenario (member, day, chosen place).
    """
    daily = [
        expected(conditions, places) for conditions, places in zip(scenarios, chosen, strict=True)
    ]
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
            rho=memory(conditions.metric, DISEASE),
        )
        for conditions, places, curve, course in zip(scenarios, chosen, daily, weekly, strict=True)
    ]


def predict(
    emulator: Emulator,
    scenarios: Sequence[Conditions],
    chosen: Sequence[Sequence[int]],
    daily: Sequence[NDArray[np.float64]],
) -> list[NDArray[np.float64]]:
    """Predict each scenario's bias, amplitude, shift times slope: (3, week, chosen place).

    ``daily`` are the scenarios' mean fields, (day, chosen place).
    """
    courses: list[NDArray[np.float64] | None] = [None] * len(scenarios)
    about = scenario_features(scenarios)
    populations = load_places().populations.astype(np.float64)
    for days in sorted({conditions.days for conditions in scenarios}):
        rows = [k for k, conditions in enumerate(scenarios) if conditions.days == days]
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
            courses[k] = part
    return [part for part in courses if part is not None]


@lru_cache(maxsize=2)
def load_emulator(path: Path = WEIGHTS) -> Emulator:
    """Load the trained emulator, on the CPU. Raises MissingEngineError."""
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


class Chance(NamedTuple):
    """Of a place's members: standing normals (member, 2); by (member, day) correlated normals and
    their ranks between 0 and 1."""

    latents: NDArray[np.float64]
    normal: NDArray[np.float32]
    rank: NDArray[np.float32]


def memory(metric: Metric, disease: Disease) -> float:
    """Compute the correlation of a count's noise from one day to the next.

    Flows are drawn anew each day; of the people in a state all but 1 / duration stay in it.
    """
    stays = {
        "hospital prevalence": disease.stay_days,
        "latent": disease.latent_days,
        "infectious": disease.infectious_days,
    }
    return 1 - 1 / stays[metric] if metric in stays else 0.0


def draw(
    daily: NDArray[np.float64],
    weekly: NDArray[np.float64],
    places: tuple[int, ...],
    *,
    members: int,
    seed: int,
    rho: float,
) -> NDArray[np.int64]:
    """Draw counts by (member, day, place).

    Member k of a seed and place has the same chance in every scenario and ensemble, as seasons are
    compared under the same luck.

    Args:
        daily: the mean field, (day, place).
        weekly: bias, amplitude and shift times slope, (3, week, place).
        places: their indices.
        members: how many are drawn.
        seed: of their luck.
        rho: correlation of a count's noise from one day to the next.
    """
    days = daily.shape[0]
    out = np.empty((len(places), members, days), dtype=np.int64)
    for column, place in enumerate(places):
        _counts(
            np.ascontiguousarray(daily[:, column]),
            np.ascontiguousarray(weekly[:, :, column]),
            _chance(seed, place, members, rho),
            out[column],
        )
    return np.moveaxis(out, 0, 2)


@lru_cache(maxsize=128)
def _chance(seed: int, place: int, members: int, rho: float) -> Chance:
    from scipy.special import ndtr

    drawn = np.random.default_rng([seed, place]).standard_normal((members, MAX_DAYS + 2))
    noise = drawn[:, 2:].copy()
    _correlate(noise, rho)
    return Chance(drawn[:, :2].copy(), noise.astype(np.float32), ndtr(noise).astype(np.float32))


@njit(cache=True)
def _correlate(noise: NDArray[np.float64], rho: float) -> None:  # pragma: no cover - compiled
    fresh = np.sqrt(1.0 - rho * rho)
    for m in range(noise.shape[0]):
        for d in range(1, noise.shape[1]):
            noise[m, d] = rho * noise[m, d - 1] + fresh * noise[m, d]


@njit(cache=True, nogil=True, error_model="numpy")
def _counts(  # pragma: no cover - compiled
    daily: NDArray[np.float64],
    weekly: NDArray[np.float64],
    chance: Chance,
    out: NDArray[np.int64],
) -> None:
    weeks, days = weekly.shape[1], out.shape[1]
    factor = np.empty(weeks)
    before = np.empty(days, dtype=np.int64)
    part = np.empty(days)
    day, drawn = np.empty(days, dtype=np.int64), np.empty(days, dtype=np.int64)
    small, left, mass = np.empty(days), np.empty(days), np.empty(days)
    for d in range(days):
        at = min(max((d - MIDWEEK) / 7.0, 0.0), weeks - 1.0)
        before[d] = min(int(at), weeks - 2)
        part[d] = at - before[d]
    for m in range(out.shape[0]):
        u, v = chance.latents[m, 0], chance.latents[m, 1]
        for w in range(weeks):
            factor[w] = np.exp(weekly[0, w] + weekly[1, w] * u + weekly[2, w] * v)
        n = 0
        for d in range(days):
            low = factor[before[d]]
            mean = daily[d] * (low + part[d] * (factor[before[d] + 1] - low))
            if mean > LARGE:
                x = chance.normal[m, d]
                count = np.floor(mean + np.sqrt(mean) * x + (x * x - 1.0) / 6.0 + 0.5)
                out[m, d] = max(int(count), 0)
            elif chance.rank[m, d] <= 1.0 - mean:  # below exp(-mean), and no exponential needed
                out[m, d] = 0
            else:
                day[n], small[n], left[n], mass[n] = d, mean, chance.rank[m, d], np.exp(-mean)
                n += 1
        _walk(small[:n], left[:n], mass[:n], drawn[:n])
        for i in range(n):
            out[m, day[i]] = drawn[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(  # pragma: no cover - compiled
    mean: NDArray[np.float64],
    left: NDArray[np.float64],
    mass: NDArray[np.float64],
    drawn: NDArray[np.int64],
) -> None:
    """Poisson counts by inversion, all of them a step at a time: the compiler takes several at
    once. ``left`` are ranks, ``mass`` the chances of none; both are used up."""
    drawn[:] = 0
    going, k = len(mean), 0
    while going > 0:
        going = 0
        over = _ONE_OVER[k + 1]
        for i in range(len(mean)):
            more = (left[i] > mass[i]) & ((k < mean[i]) | (mass[i] > 1e-9))
            left[i] = left[i] - mass[i] if more else -1.0
            mass[i] *= mean[i] * over
            drawn[i] += more
            going += more
        k += 1
