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

from typing import NamedTuple

import torch
from torch import Tensor, nn

from simulators.epidemiology.emulator.features import (
    PLACE_FEATURES,
    SCENARIO_FEATURES,
    WEEK_FEATURES,
)

OBSERVED = 2
"""Of a context course, by week: bias and spread against the mean field."""


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
