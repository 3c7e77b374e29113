"""The emulator's network: an attentive neural process over simulated seasons, in torch.

Kim et al. 2019 (attentive neural processes) after Garnelo et al. 2018. The context is a set of
simulated courses, each of one scenario in one place: what the scenario and the place were, and by
how much the members' mean and spread differed from the mean field, week by week. A query attends to
the courses of similar scenarios and decodes, week by week, the distribution of its own.

A member's logarithm of the expected count in a week is::

    log(mean field) + bias + amplitude * u + shift * slope * v

with two standard normal latents u, v that stay with the member for the season: one epidemic is
larger than another, or earlier (``slope`` is the mean field's growth a day, so ``shift`` is in
days). Around it counts are Poisson, correlated from day to day. The scale of populations, the
counts and what is pooled over places and days all stay outside the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

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
OBSERVED = 2
"""Of a context course, by week: bias and spread against the mean field."""


def scenario_features(scenarios: Sequence[Conditions]) -> NDArray[np.float32]:
    """Describe scenarios by features of order one: (scenario, feature)."""
    return np.array([_scenario(conditions) for conditions in scenarios], dtype=np.float32)


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


def _scenario(conditions: Conditions) -> list[float]:
    season = 2 * np.pi * conditions.start.timetuple().tm_yday / 365.0
    measures = conditions.measures
    closed = measures.school_closure_weeks > 0
    reduced = measures.community_reduction_percent > 0 and measures.community_reduction_weeks > 0
    given = measures.vaccination_coverage_percent > 0
    immune = conditions.prior_immunity_percent / 100
    return [
        conditions.r0 - 2.5,
        2 * conditions.drop - 0.5,
        2 * immune - 0.7,
        conditions.r0 * (1 - immune) - 1.5,
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
        *(float(conditions.metric == metric) for metric in METRICS),
    ]


class Context(NamedTuple):
    """Simulated courses: features of scenario and place together, of weeks, what was observed, and
    a mask of weeks within the horizon; (course, ...), (course, week, ...)."""

    static: Tensor
    weekly: Tensor
    observed: Tensor
    mask: Tensor


class Memory(NamedTuple):
    """What the network keeps of a context: (course, width) each; of an empty one, no rows."""

    keys: Tensor
    values: Tensor


class Distribution(NamedTuple):
    """(course, week) each: bias and amplitude in logarithms, shift in days."""

    bias: Tensor
    amplitude: Tensor
    shift: Tensor


class NeuralProcess(nn.Module):
    """``width`` is the size of every hidden layer."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.width = width
        static = SCENARIO_FEATURES + PLACE_FEATURES
        self.static = nn.Sequential(
            nn.Linear(static, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.observe = nn.Sequential(
            nn.Linear(WEEK_FEATURES + OBSERVED, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.value = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.enter = nn.Linear(WEEK_FEATURES, width)
        self.steps = nn.ModuleList(
            nn.Conv1d(width, width, kernel_size=3, padding=gap, dilation=gap) for gap in (1, 3)
        )
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in self.steps)
        self.leave = nn.Linear(width, 3)
        # Untrained, the network says: as the mean field, with a small spread.
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)

    def remember(self, context: Context) -> Memory:
        """Read a context, once for all queries."""
        theirs = self.static(context.static)
        seen = self.observe(torch.cat([context.weekly, context.observed], dim=-1))
        weight = context.mask[..., None]
        pooled = (seen * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1)
        return Memory(self.key(theirs), self.value(torch.cat([theirs, pooled], dim=-1)))

    def forward(self, static: Tensor, weekly: Tensor, memory: Memory) -> Distribution:
        """``static`` (course, feature), ``weekly`` (course, week, feature)."""
        about = self.static(static)
        hidden = self.enter(weekly) + (about + self.attend(about, memory))[:, None, :]
        for step, mix in zip(self.steps, self.mix, strict=True):
            moved = step(hidden.transpose(1, 2)).transpose(1, 2)
            hidden = hidden + mix(torch.relu(moved))
        bias, amplitude, shift = self.leave(hidden).unbind(dim=-1)
        softplus = nn.functional.softplus
        return Distribution(
            0.1 * bias, 0.1 * softplus(amplitude - 1) + 1e-4, softplus(shift - 1) + 1e-3
        )

    def attend(self, about: Tensor, memory: Memory) -> Tensor:
        """What the memory says about each query; zeros for an empty one."""
        scores = self.query(about) @ memory.keys.T / self.width**0.5
        attended: Tensor = torch.softmax(scores, dim=-1) @ memory.values
        return attended
