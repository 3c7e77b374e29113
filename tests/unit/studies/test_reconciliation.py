"""Answers drawn from a known truth, and what the two methods make of them at equal claims."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulrag.method.reconciliation import check_partition
from studies.reconciliation.comparison import Compared, Interval, compare, drawn
from studies.reconciliation.synthetic_answers import World, draw

DRAWS = 100


@pytest.fixture(scope="module")
def compared() -> dict[float, Compared]:
    return {one.budget_percent: one for one in compare(drawn(World(), DRAWS))}


def test_a_draft_is_drawn_whole_and_the_same_each_time() -> None:
    one = draw(World(), 3)
    assert one == draw(World(), 3)
    assert one != draw(World(), 4)
    claims = one.answer.claims
    check_partition(one.answer.subjects, len(claims))
    for claim, true in zip(claims, one.true, strict=True):
        assert claim.verdict is not None
        assert claim.verdict.status == ("aligned" if true else "contradicted")
        assert any(claim.support)


def test_answers_are_right_as_often_as_asked_for_whatever_they_share() -> None:
    for correlation in (0.0, 0.7):
        said = right = 0
        world = World(correlation=correlation, classed=0.0)
        for one in drawn(world, 200):
            for claim, true in zip(one.answer.claims, one.true, strict=True):
                said += sum(claim.support)
                right += sum(claim.support) * true
        assert right / said == pytest.approx(world.accuracy, abs=0.04)


def test_worlds_differ_in_what_was_changed_and_in_nothing_else() -> None:
    world = World()
    plain, moved = draw(world, 0), draw(replace(world, misplaced=1.0), 0)
    assert [claim.text for claim in plain.answer.claims] == [c.text for c in moved.answer.claims]
    assert plain.about == moved.about
    home = [f"quantity {place}" for place in plain.about]
    for subject in plain.answer.subjects:
        assert {home[claim] for claim in subject.claims} == {subject.about}
    for subject in moved.answer.subjects:
        assert subject.about not in {home[claim] for claim in subject.claims}
    same = draw(replace(world, correlation=1.0), 0)
    assert sum(claim.text.endswith("units.") for claim in same.answer.claims) == len(
        same.answer.subjects
    )


@pytest.mark.parametrize("budget", [10.0, 25.0, 50.0, 75.0, 100.0])
def test_at_equal_claims_more_subjects_are_true(
    compared: dict[float, Compared], budget: float
) -> None:
    assert compared[budget].gain("paper").lower > 0
    # The paper with one voice by the same votes, so that both are equal where nothing is verified.
    assert compared[budget].gain("voted").lower > 0


def test_with_nothing_verified_the_gain_is_the_one_voice(compared: dict[float, Compared]) -> None:
    true = compared[0].true
    assert true["reconciled"] == true["voted"] == true["settled"]
    assert compared[0].gain("paper").lower > 0
    assert compared[0].sent == 0


def test_a_budget_is_a_share_of_the_claims(compared: dict[float, Compared]) -> None:
    assert compared[10].sent == pytest.approx(0.1, abs=0.01)
    assert compared[25].sent == pytest.approx(0.25, abs=0.02)


def test_what_would_speak_makes_every_subject_true_that_was_spoken_of(
    compared: dict[float, Compared],
) -> None:
    """With budget for all of it; the other claims are never sent."""
    spoken = tuple(len(one.answer.subjects) for one in drawn(World(), DRAWS))
    assert compared[100].true["reconciled"] == spoken
    assert compared[100].sent < 0.6
    assert compared[100].gain("settled").lower > 0


def test_beyond_reach_one_voice_stays_where_the_paper_leaves_rivals_standing() -> None:
    (found,) = compare(drawn(World(reach=0.5), DRAWS), (100.0,))
    assert found.gain("paper").lower > 0


@pytest.mark.parametrize("worse", [World(misplaced=0.8), World(correlation=1.0)])
def test_it_helps_less_where_groups_are_wrong_or_answers_copy(worse: World) -> None:
    easy = World(correlation=0.0) if worse.correlation == 1.0 else World()
    gains = [compare(drawn(world, DRAWS), (25.0,))[0].gain("paper") for world in (worse, easy)]
    assert gains[0].upper < gains[1].lower


def test_with_kappa_too() -> None:
    (found,) = compare(drawn(World(), DRAWS), (25.0,), kappa=None)
    assert found.gain("paper").lower > 0


def test_an_interval_by_hand() -> None:
    # Mean 2, standard deviation 2, of four: 1.96 * 2 / 2.
    found = Interval.of([0.0, 4.0, 2 - 2**0.5, 2 + 2**0.5])
    assert (found.mean, found.upper - found.mean) == pytest.approx((2, 1.96))
