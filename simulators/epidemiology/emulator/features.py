"""What the emulator's network sees of a scenario, of a place and of a week."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.arguments import METRICS
from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.emulator.mean_field import share_of_own
from simulators.epidemiology.ensemble import Conditions
from simulators.epidemiology.places import load_places

SCENARIO_FEATURES = 13 + len(METRICS)
PLACE_FEATURES = 7
WEEK_FEATURES = 5
SMALLEST_SHARE = 1e-10
"""Of the people, added before a logarithm is taken."""


def scenario_features(scenarios: Sequence[Conditions]) -> NDArray[np.float32]:
    """(scenario, feature), each of order one."""
    return np.array([_scenario(one) for one in scenarios], dtype=np.float32)


@lru_cache(maxsize=1)
def place_features() -> NDArray[np.float32]:
    """(place, feature): size, age shares and how much people stay among themselves."""
    places = load_places()
    size = np.log10(places.populations) - 6.6
    ages = places.people / places.populations
    ages = (ages - ages.mean(axis=1, keepdims=True)) * 20
    own = share_of_own(DISEASE)
    features = np.stack([size, *ages, 10 * (1 - own)], axis=1)
    return np.asarray(features, dtype=np.float32)


def week_features(
    daily: NDArray[np.float64], populations: NDArray[np.float64]
) -> NDArray[np.float32]:
    """(place, week, feature) out of the mean field's (day, place): time, level by head and by
    count, slope of the logarithm a week, share of the total so far."""
    weekly = daily.reshape(-1, 7, daily.shape[1]).mean(axis=1)
    share = np.log10(weekly / populations + SMALLEST_SHARE)
    weeks = len(weekly)
    time = np.repeat(np.linspace(0, (weeks - 1) / 30, weeks)[:, None], weekly.shape[1], axis=1)
    so_far = np.cumsum(weekly, axis=0)
    features = [
        time,
        share / 2 + 3,
        np.log10(weekly + 0.03),
        7 * slopes(daily),
        2 * so_far / np.maximum(so_far[-1], 1e-300) - 1,
    ]
    stacked = np.stack(features, axis=2).astype(np.float32)
    return np.ascontiguousarray(np.moveaxis(stacked, 1, 0))


def slopes(daily: NDArray[np.float64]) -> NDArray[np.float64]:
    """(week, place): mean change a day of the logarithm of (day, place)."""
    logs = np.log(np.maximum(daily, 1e-9))
    ends = logs[6::7] - logs[::7]
    return np.asarray(ends / 6, dtype=np.float64)


def _scenario(one: Conditions) -> list[float]:
    season = 2 * np.pi * one.start.timetuple().tm_yday / 365.0
    measures = one.measures
    closed = measures.school_closure_weeks > 0
    reduced = measures.community_reduction_percent > 0 and measures.community_reduction_weeks > 0
    given = measures.vaccination_coverage_percent > 0
    immune = one.prior_immunity_percent / 100
    return [
        one.r0 - 2.5,
        2 * one.drop - 0.5,
        2 * immune - 0.7,
        one.r0 * (1 - immune) - 1.5,
        float(np.sin(season)),
        float(np.cos(season)),
        # An absent measure has no course: its other numbers must not matter.
        measures.school_closure_weeks / 15,
        closed * measures.school_closure_start_week / 15,
        measures.community_reduction_percent / 50 * reduced,
        reduced * measures.community_reduction_weeks / 20,
        reduced * measures.community_reduction_start_week / 15,
        measures.vaccination_coverage_percent / 50,
        given * measures.vaccination_start_week / 15,
        *(float(one.metric == metric) for metric in METRICS),
    ]
