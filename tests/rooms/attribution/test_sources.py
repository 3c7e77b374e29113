"""Two sources: the shares and the class of a claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rooms.attribution.game import FourChances, by_source, shapley, support_of

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


@pytest.mark.parametrize("threshold", [0.0, -0.2, 1.1])
def test_impossible_thresholds(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        support_of(conditions(0.5, 0.5, 0.5, 0.5), threshold)


def test_a_chance_lies_between_0_and_1() -> None:
    with pytest.raises(ValidationError):
        conditions(0.5, 0.5, 1.2, 1.0)
