"""Causal Intervened Likelihood on enumerated causal models.

Equation 7 of arXiv 2504.01509v1 is checked against the truncated factorisation of binary causal
models small enough to enumerate. The bounds of the broken assumptions were measured on the same
draws of the same models by another program.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from rooms.attribution.intervention import Answer, Conditional, Query, cil

MODELS = range(3)


class CausalModel:
    """Five groups of two binary events and an outcome after them, with random tables.

    ``within``: events of a group depend on one another; ``far``: edges reach beyond the window.
    """

    def __init__(
        self, seed: int, *, window: int = 2, within: bool = False, far: bool = False
    ) -> None:
        draw = random.Random(seed)
        self.groups = [*(group for group in range(5) for _ in range(2)), 5]
        self.window = window
        n = len(self.groups)
        parents: list[list[int]] = []
        for i, group in enumerate(self.groups):
            older = [j for j in range(i) if group > self.groups[j]]
            # One draw for each allowed edge, in this order: the bounds below are of these models.
            allowed = [j for j in older if far or group - self.groups[j] <= window]
            parents.append([j for j in allowed if draw.random() < 0.8])
        if within:
            for i in range(n - 1):
                parents[i] += [j for j in range(i) if self.groups[j] == self.groups[i]]
        self.worlds = np.array(list(itertools.product((0, 1), repeat=n)))
        self.factors = np.array([self._factor(i, own, draw) for i, own in enumerate(parents)])
        self.chances = self.factors.prod(axis=0)
        self.outcome = self.worlds[:, -1] == 1

    def _factor(self, i: int, parents: list[int], draw: random.Random) -> NDArray[np.float64]:
        table = {row: draw.uniform(0.05, 0.95) for row in self._rows(len(parents))}
        yes = np.array([table[tuple(row)] for row in self.worlds[:, parents]])
        return np.where(self.worlds[:, i] == 1, yes, 1 - yes)

    @staticmethod
    def _rows(length: int) -> list[tuple[int, ...]]:
        return list(itertools.product((0, 1), repeat=length))

    def intervened(self, i: int, value: int) -> float:
        """P(Y = 1 | do(X_i = value)): the factor of X_i cut out."""
        others = np.delete(self.factors, i, axis=0).prod(axis=0)
        return float(others[(self.worlds[:, i] == value) & self.outcome].sum())

    def effect(self, i: int) -> float:
        """CIL where the truth is yes."""
        return self.intervened(i, 1) - self.intervened(i, 0)

    def observed(self, query: Query) -> float:
        """What somebody who knew the whole distribution would state."""
        seen = np.ones(len(self.worlds), bool)
        for i in query.happened:
            seen &= self.worlds[:, i] == 1
        for i in query.absent:
            seen &= self.worlds[:, i] == 0
        if not isinstance(query, Conditional):
            return float(self.chances[seen].sum())
        seen &= self.worlds[:, query.item] == int(query.occurs)
        return float(self.chances[seen & self.outcome].sum() / self.chances[seen].sum())

    def errors(self, *, window: int | None = None, nearest: int = 99) -> list[float]:
        """How far CIL is from the intervention's effect, by event."""
        window = self.window if window is None else window
        found = self.cil(self.observed, window=window, nearest=nearest)
        return [abs(value - self.effect(i)) for i, value in enumerate(found)]

    def cil(self, answer: Answer, *, window: int, nearest: int) -> list[float]:
        found = cil(self.groups[:-1], answer, truth=True, window=window, nearest=nearest)
        return [item.value for item in found.items if item.value is not None]


@pytest.fixture(scope="module")
def models() -> list[CausalModel]:
    return [CausalModel(seed) for seed in MODELS]


def test_equation_7_is_the_intervention_where_the_assumptions_hold(
    models: list[CausalModel],
) -> None:
    assert max(error for model in models for error in model.errors()) < 2e-15


def test_exact_as_soon_as_the_whole_window_is_enumerated(models: list[CausalModel]) -> None:
    """Two groups of two are four events: k = 4 loses nothing."""
    exact = models[0].errors(nearest=4)
    assert max(exact) < 2e-15


@pytest.mark.parametrize(("nearest", "bias"), [(0, 0.389), (1, 0.236), (2, 0.071), (3, 0.063)])
def test_a_capped_window_is_biased(models: list[CausalModel], nearest: int, bias: float) -> None:
    """What is held at "happened" is not averaged over: exact only where the window fits."""
    fits: list[float] = []
    capped: list[float] = []
    for model in models:
        groups = model.groups[:-1]
        for group, error in zip(groups, model.errors(nearest=nearest), strict=True):
            past = sum(0 < group - other <= 2 for other in groups)
            (fits if past <= nearest else capped).append(error)
    assert max(fits) < 2e-15
    assert max(capped) == pytest.approx(bias, abs=5e-4)  # measured here, on these models


def broken(make: Callable[[int], CausalModel]) -> float:
    """The largest error of either term of equation 7 over the models."""
    worst = 0.0
    for seed in MODELS:
        model = make(seed)
        for i, group in enumerate(model.groups[:-1]):
            past = [j for j, other in enumerate(model.groups) if 0 < group - other <= model.window]
            for occurs in (True, False):
                term = adjusted(model, i, occurs, past)
                worst = max(worst, abs(term - model.intervened(i, int(occurs))))
    return worst


def adjusted(model: CausalModel, item: int, occurs: bool, past: list[int]) -> float:
    """One term of equation 7, through ``cil``: the other term answered with 0."""

    def answer(query: Query) -> float:
        if isinstance(query, Conditional) and (query.occurs != occurs or query.item != item):
            return 0.0
        return model.observed(query)

    found = cil(model.groups[:-1], answer, truth=occurs, window=model.window, nearest=len(past))
    value = found.items[item].value
    assert value is not None
    return value


def test_edges_within_a_group_break_it() -> None:
    assert broken(lambda seed: CausalModel(seed, within=True)) == pytest.approx(0.0591, abs=5e-5)


def test_edges_beyond_the_window_break_it() -> None:
    error = broken(lambda seed: CausalModel(seed, window=1, far=True))
    assert error == pytest.approx(0.0319, abs=5e-5)
