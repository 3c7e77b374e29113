"""Selection by expected change: chances by hand, and what the development part decides."""

from __future__ import annotations

import pytest

from simulrag.errors import InputError
from simulrag.method.choosing import choose
from simulrag.method.expecting import PRIOR, Chances, Weighed, by_gain, chances_of, weighed
from simulrag.method.selection import SubjectCandidates
from simulrag.method.settings import MethodSettings
from simulrag.testing.synthetic_answers import World, draw

SETTINGS = MethodSettings(
    method="reconciled",
    pool="question",
    final_budgets_percent=(25,),
    kappa=0.0,
    select_by="expected_change",
)


def test_chances_are_drawn_to_the_rate_of_all() -> None:
    chances = Chances.fitted([("a", True)] * 3 + [("a", False)] + [("b", False)] * 4)
    assert chances.rate == 3 / 8
    assert chances.of("a") == pytest.approx((3 + PRIOR * 3 / 8) / (4 + PRIOR))
    assert chances.of("b") == pytest.approx((PRIOR * 3 / 8) / (4 + PRIOR))
    assert chances.of("unseen") == 3 / 8
    assert Chances.fitted([]).of("a") == 0.5


def test_a_gain_is_a_chance_for_each_claim_sent() -> None:
    subjects = [Weighed("a", 1, None), Weighed("a", 4, None)]
    within = SubjectCandidates((0.1, 0.9), (True, False))
    found = by_gain(subjects, within, Chances({"a": 0.8}, 0.5))
    assert found == SubjectCandidates((0.8, 0.2), (True, False))


def test_verdicts_outside_the_development_part_change_no_choice() -> None:
    drafts = [draw(World(reach=0.7), seed).answer for seed in range(30)]
    chosen = choose(drafts, SETTINGS)
    blind = []
    for answer in drafts:
        claims = tuple(one.model_copy(update={"verdict": None}) for one in answer.claims)
        held_out = answer.question_id not in _development(drafts)
        blind.append(answer.model_copy(update={"claims": claims}) if held_out else answer)
    assert choose(blind, SETTINGS) == chosen
    other = SETTINGS.model_copy(update={"select_by": "uncertainty"})
    assert [pair[-1].subjects for pair in choose(drafts, other)] != [
        pair[-1].subjects for pair in chosen
    ]
    stopped = choose(drafts, SETTINGS.model_copy(update={"tau": 0.99}))
    assert all(pair[-1].subjects == () for pair in stopped)


def _development(drafts: list) -> set[str]:  # type: ignore[type-arg]
    from simulrag.method.expecting import in_development

    return {one.question_id for one in drafts if in_development(one.question_id, 0.2)}


def test_a_subject_is_mended_where_what_it_says_is_contradicted() -> None:
    seen = []
    for seed in range(5):
        drawn = draw(World(samples=1), seed)
        answer = drawn.answer
        support = list(zip(*(claim.support for claim in answer.claims), strict=True))
        found = weighed(answer, [one.claims for one in answer.subjects], support)
        for subject, own in zip(answer.subjects, found, strict=True):
            assert own.mended == (not all(drawn.true[claim] for claim in subject.claims))
        seen += found
    assert 0 < chances_of(seen).rate < 1


def test_without_verdicts_nothing_can_be_learnt() -> None:
    answer = draw(World(), 1).answer
    bare = tuple(claim.model_copy(update={"verdict": None}) for claim in answer.claims)
    with pytest.raises(InputError, match="learns from verdicts"):
        choose([answer.model_copy(update={"claims": bare})], SETTINGS)
