"""Errors of the emulator on scenarios that it has not seen, against the mechanistic model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.emulator import Emulator, emulate
from simulators.epidemiology.ensemble import Conditions, run_ensemble
from simulators.epidemiology.summary import QUANTILES, by_member

BIG_PEAK = 40
SMALLEST = 0.5
MOST_STATES = 4
DRAWS = 100
"""Members of the emulator: they cost little, and fewer blur the bounds of its interval."""
SEED_OF_DRAWS = 1


def evaluate(
    emulator: Emulator, scenarios: Sequence[Conditions], *, members: int, seed: int
) -> dict[str, object]:
    """Errors over the sums of one to four random states of each scenario.

    ``emulator``: against an ensemble of ``members``; ``mechanistic``: a second ensemble of the
    mechanistic model, so what chance alone costs.
    """
    rng = np.random.default_rng(seed)
    chosen = [
        sorted(rng.permutation(51)[: rng.integers(1, MOST_STATES + 1)].tolist()) for _ in scenarios
    ]
    ours = emulate(emulator, scenarios, chosen, DRAWS, SEED_OF_DRAWS)
    truth, again = [], []
    for k, (one, places) in enumerate(zip(scenarios, chosen, strict=True)):
        both = run_ensemble(one, range(2 * members), seed + k)[:, :, places].sum(axis=2)
        truth.append(both[:members])
        again.append(both[members:])
    return {
        "emulator": compare([part.sum(axis=2) for part in ours], truth),
        "mechanistic": compare(again, truth),
        "scenarios": len(scenarios),
        "members": members,
    }


def compare(
    ours: Sequence[NDArray[np.int64]], truth: Sequence[NDArray[np.int64]]
) -> dict[str, float | None]:
    """Mean absolute errors of the medians over members, and the share of true members' peaks and
    days inside our 90 % intervals. Each series is (member, day); ``big`` are true peaks of at least
    40 people, and an error without queries is None."""
    found = [(by_member(a), by_member(b)) for a, b in zip(ours, truth, strict=True)]
    big = [(a, b) for a, b in found if b.peak_median >= BIG_PEAK]

    def mean(values: Sequence[float]) -> float | None:
        return round(fmean(values), 4) if values else None

    return {
        "log_peak_mae": mean([_log(a.peak_median, b.peak_median) for a, b in found]),
        "log_peak_mae_big": mean([_log(a.peak_median, b.peak_median) for a, b in big]),
        "peak_week_mae": mean([abs(a.peak_day - b.peak_day) / 7 for a, b in found]),
        "peak_week_mae_big": mean([abs(a.peak_day - b.peak_day) / 7 for a, b in big]),
        "log_cumulative_mae": mean(
            [_log(a.cumulative_median, b.cumulative_median) for a, b in found]
        ),
        "trend_agreement": mean([float(a.trend == b.trend) for a, b in found]),
        "peak_coverage_90": mean(
            [_inside(a.max(axis=1), b.max(axis=1)) for a, b in zip(ours, truth, strict=True)]
        ),
        "daily_coverage_90": mean([_inside(a, b) for a, b in zip(ours, truth, strict=True)]),
        "n": len(found),
        "n_big": len(big),
    }


def _inside(ours: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Share of the true members within our interval, bounds included."""
    low, _, high = np.quantile(ours, QUANTILES, axis=0)
    return float(((truth >= low) & (truth <= high)).mean())


def _log(ours: float, theirs: float) -> float:
    return abs(math.log(max(ours, SMALLEST) / max(theirs, SMALLEST)))
