"""Causal Intervened Likelihood: on enumerated causal models, and its edge cases.

Equation 7 of arXiv 2504.01509v1 is checked against the truncated factorisation of binary causal
models small enough to enumerate. The bounds of the broken assumptions were measured on the same
draws of the same models by another program.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from rooms.attribution.intervention import Answer, Conditional, Course, Query, cil, queries

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


def stated(query: Query) -> float:
    if isinstance(query, Course):
        return 0.5
    return 0.8 if query.occurs else 0.3


def test_an_empty_window_is_the_plain_difference() -> None:
    found = cil([4, 4, 4], stated, truth=True)  # all articles on one day
    assert [item.value for item in found.items] == [pytest.approx(0.5)] * 3
    assert {item.past for item in found.items} == {0}
    assert not [query for query in queries([4, 4, 4]) if isinstance(query, Course)]


def test_the_window_ends_after_w_groups() -> None:
    found = cil([0, 1, 3, 4], stated, truth=True, window=3)
    assert [item.past for item in found.items] == [0, 1, 2, 2]


def test_joint_chances_are_normalised_and_their_sum_is_told() -> None:
    def answer(query: Query) -> float:
        if isinstance(query, Course):
            return 0.6 if query.happened else 0.2
        happened = 1 in query.happened or 0 in query.happened
        return (0.9 if happened else 0.5) if query.occurs else 0.1

    item = cil([0, 1], answer, truth=True).items[1]
    assert item.joint_sum == pytest.approx(0.8)
    assert item.value == pytest.approx(0.75 * (0.9 - 0.1) + 0.25 * (0.5 - 0.1))


def test_without_any_joint_chance_there_is_no_value() -> None:
    item = cil([0, 1], lambda q: 0.0 if isinstance(q, Course) else 0.4, truth=True).items[1]
    assert item.value is None
    assert "joint" in str(item.failure)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_a_chance_outside_0_to_1_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        cil([0], lambda _: bad, truth=True)


def test_the_caps_are_in_the_name_and_beside_the_value() -> None:
    found = cil([0] * 6 + [1], stated, truth=True, nearest=4, window=3)
    assert found.name == "cil[k=4,w=3]"
    assert (found.items[-1].past, found.items[-1].held) == (6, 2)


def test_the_best_rated_are_enumerated_and_the_others_happened() -> None:
    groups, ratings = [0, 0, 0, 1], [1.0, 6.0, 3.0, 2.0]
    asked = [q for q in queries(groups, ratings=ratings, nearest=1) if isinstance(q, Course)]
    assert asked == [
        Course(frozenset({0, 1, 2}), frozenset()),
        Course(frozenset({0, 2}), frozenset({1})),
    ]


def test_calls_an_item_and_what_a_group_shares() -> None:
    groups = [0] * 5 + [1, 1]
    asked = queries(groups, nearest=4)
    joint = [query for query in asked if isinstance(query, Course)]
    last = [query for query in asked if isinstance(query, Conditional) and query.item == 6]
    assert len(joint) == 2**4  # once for both items of the second group
    assert len(last) == 2**5
    assert 2 * (len(last) + len(joint)) == 96  # what an item costs at two statements a chance


def test_later_items_leave_earlier_ones_alone() -> None:
    groups = [0, 0, 1]
    few = cil(groups, stated, truth=True)
    assert cil([*groups, 2, 2], stated, truth=True).items[:3] == few.items


def test_impossible_arguments() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        cil([0], stated, truth=True, window=-1)
    with pytest.raises(ValueError, match="2 ratings do not fit 1 items"):
        cil([0], stated, truth=True, ratings=[1, 2])
