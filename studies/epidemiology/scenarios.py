"""Scenarios that the emulator learns from, and what the mechanistic model makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.arguments import METRICS
from simulators.epidemiology.disease import DISEASE, Measures
from simulators.epidemiology.ensemble import Conditions, run_ensemble

METRIC_SHARES = (0.35, 0.35, 0.1, 0.1, 0.1)
"""How often each of ``METRICS`` is sampled: hospital metrics are asked most."""
WEEKS = 60
USUAL_WEEKS = 45
AUTUMN = date(2022, 9, 1)


@dataclass(frozen=True)
class Learned:
    """Scenarios with moments over the members of the weekly means of a day: (scenario, week,
    place), NaN after a scenario's horizon. ``variance`` is that of the members (divided by n)."""

    scenarios: tuple[Conditions, ...]
    mean: NDArray[np.float32]
    variance: NDArray[np.float32]

    def joined(self, other: Learned) -> Learned:
        """Both, these first."""
        return Learned(
            self.scenarios + other.scenarios,
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.variance, other.variance]),
        )


def sample_scenarios(count: int, rng: np.random.Generator) -> list[Conditions]:
    """Over the whole range of the tool's arguments, more often where questions are asked.

    Seven in ten start in September to November; three in four last 45 weeks, the others 60; each
    intervention is absent in two of three.
    """
    return [_scenario(rng) for _ in range(count)]


def simulate(scenarios: Sequence[Conditions], members: int, seed: int, processes: int) -> Learned:
    """The mechanistic model's members of each scenario, as weekly moments.

    Scenario k is run with a seed of its own, so the result is the same for every number of
    ``processes``.
    """
    work = partial(_moments, members=members)
    todo = list(zip(scenarios, range(seed, seed + len(scenarios)), strict=True))
    if processes == 1:
        rows = [work(one) for one in todo]
    else:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            rows = list(pool.map(work, todo, chunksize=16))
    return Learned(
        tuple(scenarios), np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])
    )


def _moments(
    task: tuple[Conditions, int], members: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    conditions, seed = task
    series = run_ensemble(conditions, range(members), seed)
    weekly = series.reshape(members, -1, 7, series.shape[2]).mean(axis=2)
    mean = np.full((WEEKS, series.shape[2]), np.nan, dtype=np.float32)
    variance = mean.copy()
    mean[: weekly.shape[1]] = weekly.mean(axis=0)
    variance[: weekly.shape[1]] = weekly.var(axis=0)
    return mean, variance


def _scenario(rng: np.random.Generator) -> Conditions:
    def rarely(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1)) if rng.random() < 1 / 3 else 0

    drops = (0.0, DISEASE.moderate_drop, DISEASE.high_drop, float(rng.uniform(0, 0.9)))
    in_autumn = rng.random() < 0.7
    day = int(rng.integers(0, 90)) if in_autumn else int(rng.integers(0, 365))
    # Half of the scenarios lie where most questions ask.
    r0 = float(rng.uniform(1.2, 4) if rng.random() < 0.5 else rng.uniform(1.6, 3))
    return Conditions(
        start=AUTUMN + timedelta(days=day),
        r0=round(r0, 2),
        drop=round(drops[int(rng.integers(0, 4))], 3),
        prior_immunity_percent=round(float(rng.uniform(0, 80) * rng.uniform(0.5, 1)), 1),
        metric=METRICS[int(rng.choice(len(METRICS), p=METRIC_SHARES))],
        days=7 * (USUAL_WEEKS if rng.random() < 0.75 else WEEKS),
        measures=Measures(
            school_closure_weeks=rarely(1, 20),
            school_closure_start_week=int(rng.integers(0, 20)),
            community_reduction_percent=float(rarely(5, 70)),
            community_reduction_weeks=int(rng.integers(1, 30)),
            community_reduction_start_week=int(rng.integers(0, 20)),
            vaccination_coverage_percent=float(rarely(5, 80)),
            vaccination_start_week=int(rng.integers(0, 20)),
        ),
    )
