"""Selection by budget and threshold, and what is kept afterwards."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from simulrag.errors import InputError
from simulrag.method.selection import (
    Candidates,
    SelectionMethod,
    budget_count,
    candidates_of,
    kappa_from_quantile,
    keep,
    select_among,
    select_by_budget,
    select_by_threshold,
)
from simulrag.records import Claim, Failure, Retrieval
from tests.making import answer, claim


def candidates(**changes: object) -> Candidates:
    fields: dict[str, object] = {
        "question": ["a", "a", "a", "a", "b", "b"],
        "confidence": [0.5, 0.1, 0.3, 0.2, 0.4, 0.05],
        "verbalized": [0.1, 0.9, 0.8, None, 0.2, 0.7],
        "boundary": [True, False, True, True, True, None],
        "checkable": [True] * 6,
    }
    return Candidates(**{**fields, **changes})  # type: ignore[arg-type]


def at(confidence: float, status: str | None = None, **more: Any) -> Claim:
    return claim(f"claim at {confidence}", confidence, status=status, **more)


@pytest.mark.parametrize(
    ("budget", "claims", "count"),
    [(15, 10, 2), (25, 10, 3), (45, 10, 5), (14, 10, 1), (0, 10, 0), (100, 7, 7), (25, 0, 0)],
)
def test_budget_counts_round_half_up(budget: float, claims: int, count: int) -> None:
    assert budget_count(budget, claims) == count


@pytest.mark.parametrize("budget", [-1, 130])
def test_impossible_budget(budget: float) -> None:
    with pytest.raises(InputError, match=f"budget {budget} % is impossible"):
        budget_count(budget, 10)


def test_each_method_takes_its_own_least_confident() -> None:
    pool = candidates()
    assert select_by_budget(pool, "uncertainty", 33, seed=1) == (1, 5)
    assert select_by_budget(pool, "ue_sba", 33, seed=1) == (2, 3)
    assert select_by_budget(pool, "verbalized", 33, seed=1) == (0, 4)
    assert len(select_by_budget(pool, "random", 33, seed=1)) == 2


def test_random_follows_its_seed() -> None:
    picks = {select_by_budget(candidates(), "random", 50, seed=seed) for seed in range(20)}
    assert len(picks) > 5
    again = select_by_budget(candidates(), "random", 50, seed=3)
    assert again == select_by_budget(candidates(), "random", 50, seed=3)


def test_ties_are_broken_by_the_seed_and_not_by_place() -> None:
    pool = candidates(confidence=[0.2] * 6)
    picks = [select_by_budget(pool, "uncertainty", 17, seed=seed) for seed in range(40)]
    assert {pick[0] for pick in picks} == set(range(6))


def test_fewer_eligible_claims_leave_budget_over() -> None:
    selection = select_by_budget(candidates(), "ue_sba", 100, seed=1)
    assert len(selection) == 4


def test_no_claims() -> None:
    empty = candidates(question=[], confidence=[], verbalized=[], boundary=[], checkable=[])
    assert select_by_budget(empty, "random", 25, seed=1) == ()


def test_per_question_budget() -> None:
    selection = select_by_budget(candidates(), "uncertainty", 50, seed=1, per_question=True)
    assert selection == (1, 3, 5)


@pytest.mark.parametrize("method", get_args(SelectionMethod))
def test_claims_without_evidence_are_counted_and_not_chosen(method: str) -> None:
    pool = candidates(checkable=[True, True, True, True, False, False])
    selection = select_by_budget(pool, method, 100, seed=1)  # type: ignore[arg-type]
    assert set(selection) <= {0, 1, 2, 3}


def test_threshold() -> None:
    assert select_by_threshold(candidates(), 0.3) == (3,)


def test_kappa_is_a_value_that_occurs() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert kappa_from_quantile(values, 0.25) == 0.2
    assert kappa_from_quantile(values, 0.3) == 0.2
    assert kappa_from_quantile(values, 0) == 0.1


def test_keep_takes_decided_claims_and_confident_ones() -> None:
    claims = [
        at(0.1, "aligned"),
        at(0.1, "contradicted"),
        at(0.1, "indeterminate"),
        at(0.1, "error"),
        at(0.1, "aligned"),
        at(0.6, "indeterminate"),
    ]
    assert keep(claims, [0, 1, 2, 3], 0.5) == (0, 1, 5)


def test_missing_confidence_names_what_there_is() -> None:
    with pytest.raises(InputError, match=r"no votes confidence \(it has: betweenness, closeness"):
        keep([at(0.1)], [], 0.5, "votes")


def test_selection_over_answers() -> None:
    answers = [
        answer("a", [at(0.4), at(0.1, boundary=False), at(0.2)]),
        answer("b", [at(0.0)], failure=Failure(step="verify", reason="no reply")),
        answer("c", [at(0.05)], retrieval=Retrieval(status="not_applicable")),
        answer("d", [at(0.3)]),
    ]
    pools = [candidates_of([one]) for one in answers]
    assert select_among(pools, budget_percent=40, seed=1) == [(2,), (), (), (0,)]
    each = select_among(pools, budget_percent=40, pool="question", seed=1)
    assert each == [(2,), (), (), ()]
    assert select_among(pools, budget_percent=0, tau=0.25, seed=1) == [(2,), (), (), ()]
