"""Simulated scenarios as tensors: one course is one scenario in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.emulator import Emulator, memory, predict
from simulators.epidemiology.emulator.mean_field import expected
from simulators.epidemiology.emulator.network import (
    WEEK_FEATURES,
    Context,
    place_features,
    scenario_features,
    slopes,
    week_features,
)
from simulators.epidemiology.ensemble import Conditions
from simulators.epidemiology.places import load_places
from studies.epidemiology.scenarios import WEEKS, Learned

FEW = 0.3
"""People added where a context's logarithms are taken."""


@dataclass(frozen=True)
class Courses:
    """By course (or by scenario and place) and week: features, the mean field's weekly mean and
    slope a day, the members' moments; ``noise`` is the variance of a weekly mean of unit counts."""

    static: Tensor
    weekly: Tensor
    expected: Tensor
    slope: Tensor
    mean: Tensor
    variance: Tensor
    mask: Tensor
    noise: Tensor

    def to(self, device: torch.device) -> Courses:
        """The same on a device."""
        return Courses(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})

    def take(self, scenarios: NDArray[np.int64], places: NDArray[np.int64]) -> Courses:
        """The courses of pairs of a scenario and a place."""
        at = (torch.from_numpy(scenarios), torch.from_numpy(places))
        return Courses(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    def context(self, scenarios: NDArray[np.int64], places: NDArray[np.int64]) -> Context:
        """The same as a context: with what was observed against the mean field."""
        one = self.take(scenarios, places)
        bias = torch.log((one.mean + FEW) / (one.expected + FEW)).clamp(-1, 1)
        beyond = (one.variance - one.expected * one.noise[:, None]).clamp(min=0)
        spread = (beyond.sqrt() / (one.mean + FEW)).clamp(max=1)
        observed = torch.stack([5 * bias, 5 * spread], dim=-1) * one.mask[..., None]
        return Context(one.static, one.weekly, observed, one.mask)


def courses(learned: Learned) -> Courses:
    """All courses of simulated scenarios, (scenario, place, ...)."""
    places = load_places()
    everywhere = range(len(places.names))
    count = len(learned.scenarios)
    weekly = np.zeros((count, len(everywhere), WEEKS, WEEK_FEATURES), dtype=np.float32)
    expects = np.zeros((count, len(everywhere), WEEKS), dtype=np.float32)
    slope = np.zeros_like(expects)
    populations = places.populations.astype(np.float64)
    for k, one in enumerate(learned.scenarios):
        daily = expected(one, everywhere)
        weeks = one.days // 7
        weekly[k, :, :weeks] = week_features(daily, populations)
        expects[k, :, :weeks] = daily.reshape(weeks, 7, -1).mean(axis=1).T
        slope[k, :, :weeks] = slopes(daily).T
    about = scenario_features(learned.scenarios)
    static = np.concatenate(
        [
            np.repeat(about[:, None, :], len(everywhere), axis=1),
            np.repeat(place_features()[None], count, axis=0),
        ],
        axis=2,
    )
    known = ~np.isnan(learned.mean)
    noise = [weekly_noise(memory(one.metric, DISEASE)) for one in learned.scenarios]
    each = np.repeat(np.array(noise, dtype=np.float32)[:, None], len(everywhere), axis=1)

    def by_place(moments: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy(np.moveaxis(np.nan_to_num(moments), 1, 2).copy())

    return Courses(
        static=torch.from_numpy(static),
        weekly=torch.from_numpy(weekly),
        expected=torch.from_numpy(expects),
        slope=torch.from_numpy(slope),
        mean=by_place(learned.mean),
        variance=by_place(learned.variance),
        mask=by_place(known.astype(np.float32)),
        noise=torch.from_numpy(each),
    )


def weekly_noise(rho: float) -> float:
    """Variance of the mean of seven unit variables with correlation ``rho`` between neighbours."""
    lags = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    return float((float(rho) ** lags).sum() / 49)


def spread_of(emulator: Emulator, scenarios: Sequence[Conditions]) -> NDArray[np.float64]:
    """Predicted spread of the members, in logarithms: mean over weeks and six places.

    The uncertainty by which active learning picks its scenarios.
    """
    some = np.argsort(load_places().populations, kind="stable")[::10].tolist()
    daily = [expected(one, some) for one in scenarios]
    found = predict(emulator, scenarios, [some] * len(scenarios), daily)
    return np.array([np.hypot(part[1], part[2]).mean() for part in found])
