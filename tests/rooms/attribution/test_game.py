"""Shapley's axioms, sampling, leaving out one, and the game of two sources."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rooms.attribution.game import (
    FourChances,
    Value,
    by_source,
    leave_one_out,
    sets_asked,
    shapley,
    support_of,
)


def table(n: int, seed: int = 3) -> Value:
    """A random game over ``n`` items."""
    draw = random.Random(seed)
    known = {
        frozenset(items): draw.random()
        for size in range(n + 1)
        for items in itertools.combinations(range(n), size)
    }
    return known.__getitem__


def shapley_values(value: Value, n: int, **more: int) -> list[float]:
    return [one.value for one in shapley(value, n, **more)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 7])
def test_efficiency(n: int) -> None:
    value = table(n)
    gain = value(frozenset(range(n))) - value(frozenset())
    found = shapley_values(value, n, permutations=5)
    assert len(found) == n
    assert math.fsum(found) == pytest.approx(gain if n else 0.0, abs=1e-12)


def test_a_worked_example() -> None:
    """Two gloves for the left hand and one for the right: 1/6, 1/6, 2/3."""
    found = shapley_values(lambda items: float(2 in items and len(items) > 1), 3)
    assert found == [pytest.approx(1 / 6), pytest.approx(1 / 6), pytest.approx(2 / 3)]


def test_an_item_that_adds_nothing_gets_exactly_nothing() -> None:
    value = table(3)
    found = shapley_values(lambda items: value(items - {3}), 4)
    assert found[3] == 0.0
    assert found[:3] == [pytest.approx(one) for one in shapley_values(value, 3)]


def test_linearity() -> None:
    one, two = table(4, seed=1), table(4, seed=2)
    both = shapley_values(lambda items: 2 * one(items) - two(items), 4)
    parts = zip(shapley_values(one, 4), shapley_values(two, 4), strict=True)
    assert both == [pytest.approx(2 * a - b) for a, b in parts]


def test_exact_values_ask_each_set_once() -> None:
    asked: list[frozenset[int]] = []

    def value(items: frozenset[int]) -> float:
        asked.append(items)
        return len(items) / 6

    shapley_values(value, 6)
    assert len(asked) == len(set(asked)) == 64


def test_permutations_come_near_the_exact_value() -> None:
    """Seven items with a closed form: a sum of weights and one pair that needs both."""

    def value(items: frozenset[int]) -> float:
        return sum(0.1 * item for item in items) + float({0, 6} <= items)

    exact = [0.1 * item + (0.5 if item in (0, 6) else 0.0) for item in range(7)]
    for permutations in (50, 800):
        found = shapley(value, 7, permutations=permutations, seed=1)
        for one, true in zip(found, exact, strict=True):
            assert abs(one.value - true) <= 3 * one.standard_error + 1e-12
    # A fair coin decides who of the pair comes second: 0.5 / sqrt(800).
    assert found[0].standard_error == pytest.approx(0.0177, abs=2e-4)
    assert found[3].standard_error == pytest.approx(0, abs=1e-12)


def test_a_seed_gives_the_same_and_another_seed_others() -> None:
    value = table(7)
    one, two, other = (shapley_values(value, 7, permutations=20, seed=s) for s in (5, 5, 6))
    assert one == two != other


def test_more_permutations_keep_the_earlier() -> None:
    few = sets_asked(lambda value: shapley_values(value, 8, permutations=10))
    many = sets_asked(lambda value: shapley_values(value, 8, permutations=20))
    assert set(few) < set(many)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_failure_is_never_a_value(bad: float) -> None:
    with pytest.raises(ValueError, match=r"items \[1\] is .*not a number"):
        shapley_values(lambda items: bad if items == {1} else 0.0, 2)


def test_duplicates_hide_each_other_when_left_out() -> None:
    def says(items: frozenset[int]) -> float:
        return 1.0 if items & {0, 1} else 0.5

    assert leave_one_out(says, 3) == [0.0, 0.0, 0.0]
    assert len(sets_asked(lambda value: leave_one_out(value, 3))) == 4
    assert shapley_values(says, 3) == [pytest.approx(0.25), pytest.approx(0.25), 0.0]


chance = st.floats(0, 1)


def conditions(none: float, documents: float, simulator: float, both: float) -> FourChances:
    return FourChances(none=none, documents=documents, simulator=simulator, both=both)


@given(chance, chance, chance, chance)
def test_it_is_the_shapley_value_of_two_players(n: float, d: float, s: float, b: float) -> None:
    shares = by_source(conditions(n, d, s, b))
    game = {frozenset[int](): n, frozenset({0}): d, frozenset({1}): s, frozenset({0, 1}): b}
    documents, simulator = (one.value for one in shapley(game.__getitem__, 2))
    assert shares.documents == pytest.approx(documents, abs=1e-12)
    assert shares.simulator == pytest.approx(simulator, abs=1e-12)
    assert shares.documents + shares.simulator == pytest.approx(b - n, abs=1e-12)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((0.5, 0.5, 1.0, 1.0), "simulator"),
        ((0.5, 1.0, 0.5, 1.0), "documents"),
        ((0.5, 1.0, 1.0, 1.0), "both"),  # each says all of it: 0.25 each
        ((0.5, 0.5, 0.5, 1.0), "both"),  # only together: 0.25 each
        ((0.5, 0.5, 0.5, 0.5), "neither"),
        ((0.5, 0.5, 0.0, 0.0), "against"),
        ((0.5, 0.0, 1.0, 0.5), "against"),  # the simulator says so, the documents deny it
        ((0.5, 0.0, 1.0, 1.0), "against"),  # also where the simulator has the last word
        ((0.9, 0.9, 0.9, 0.9), "neither"),  # known without evidence
    ],
)
def test_classes(told: tuple[float, float, float, float], expected: str) -> None:
    assert support_of(conditions(*told)) == expected


def test_the_threshold_itself_counts() -> None:
    told = conditions(0.1, 0.1, 0.3, 0.3)  # 0.3 - 0.1 is 0.19999999999999998
    assert support_of(told) == "simulator"
    assert support_of(told, threshold=0.21) == "neither"


def test_a_chance_lies_between_0_and_1() -> None:
    with pytest.raises(ValidationError):
        conditions(0.5, 0.5, 1.2, 1.0)
