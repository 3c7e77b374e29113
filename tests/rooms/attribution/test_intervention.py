"""CIL's edge cases; that it is the intervention is in tests/reproduction/test_prophet.py."""

from __future__ import annotations

import math

import pytest

from rooms.attribution.intervention import Conditional, Course, Query, cil, queries


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


def test_truth_no_turns_the_sign() -> None:
    found = cil([0], stated, truth=False)
    assert found.items[0].value == pytest.approx(-0.5)


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
