"""Selection by budget and threshold, and what is kept afterwards."""

from __future__ import annotations

import pytest

from simulrag.errors import InputError
from simulrag.method.selection import (
    METHODS,
    Candidates,
    budget_count,
    candidates_of,
    kappa_from_quantile,
    keep,
    select_among,
    select_by_budget,
    select_by_threshold,
)
from simulrag.records import Answer, Claim, Evidence, Failure, Retrieval, ToolCall, Verdict


def candidates(**changes: object) -> Candidates:
    fields: dict[str, object] = {
        "question": ["a", "a", "a", "a", "b", "b"],
        "confidence": [0.5, 0.1, 0.3, 0.2, 0.4, 0.05],
        "verbalized": [0.1, 0.9, 0.8, None, 0.2, 0.7],
        "boundary": [True, False, True, True, True, None],
        "checkable": [True] * 6,
    }
    return Candidates(**{**fields, **changes})  # type: ignore[arg-type]


def claim(confidence: float, status: str | None = None, boundary: bool = True) -> Claim:
    verdict = None if status is None else Verdict.model_validate({"status": status})
    return Claim(
        text=f"claim at {confidence}",
        confidence={"closeness": confidence},
        boundary=boundary,
        verdict=verdict,
    )


def answer(name: str, claims: list[Claim], **changes: object) -> Answer:
    run = Evidence(
        simulator="s", call=ToolCall(tool="t", arguments={}), seed=0, outputs={}, text="x"
    )
    fields: dict[str, object] = {"retrieval": Retrieval(status="retrieved", evidence=(run,))}
    return Answer.model_validate(
        {"question_id": name, "domain": "urban", "claims": claims, **fields, **changes}
    )


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
    assert select_by_budget(pool, "uncertainty", 33, seed=1).chosen == (1, 5)
    assert select_by_budget(pool, "ue_sba", 33, seed=1).chosen == (2, 3)
    assert select_by_budget(pool, "verbalized", 33, seed=1).chosen == (0, 4)
    assert len(select_by_budget(pool, "random", 33, seed=1).chosen) == 2


def test_random_follows_its_seed() -> None:
    picks = {select_by_budget(candidates(), "random", 50, seed=seed).chosen for seed in range(20)}
    assert len(picks) > 5
    again = select_by_budget(candidates(), "random", 50, seed=3)
    assert again == select_by_budget(candidates(), "random", 50, seed=3)


def test_ties_are_broken_by_the_seed_and_not_by_place() -> None:
    pool = candidates(confidence=[0.2] * 6)
    picks = [select_by_budget(pool, "uncertainty", 17, seed=seed).chosen for seed in range(40)]
    assert {pick[0] for pick in picks} == set(range(6))


def test_budget_left_over_is_reported() -> None:
    selection = select_by_budget(candidates(), "ue_sba", 100, seed=1)
    assert (selection.wanted, selection.eligible) == (6, 4)
    assert selection.share_spent == pytest.approx(4 / 6)


def test_no_claims() -> None:
    empty = candidates(question=[], confidence=[], verbalized=[], boundary=[], checkable=[])
    selection = select_by_budget(empty, "random", 25, seed=1)
    assert selection.chosen == ()
    assert selection.share_spent is None


def test_per_question_budget() -> None:
    selection = select_by_budget(candidates(), "uncertainty", 50, seed=1, per_question=True)
    assert selection.chosen == (1, 3, 5)


@pytest.mark.parametrize("method", METHODS)
def test_claims_without_evidence_are_counted_and_not_chosen(method: str) -> None:
    pool = candidates(checkable=[True, True, True, True, False, False])
    selection = select_by_budget(pool, method, 100, seed=1)  # type: ignore[arg-type]
    assert selection.wanted == 6
    assert set(selection.chosen) <= {0, 1, 2, 3}


def test_threshold() -> None:
    assert select_by_threshold(candidates(), 0.3) == (3,)
    assert select_by_threshold(candidates(), 0.3, boundary=False) == (1, 3, 5)


def test_unknown_method() -> None:
    with pytest.raises(InputError, match="'luck' is unknown"):
        select_by_budget(candidates(), "luck", 25, seed=1)  # type: ignore[arg-type]


def test_kappa_is_a_value_that_occurs() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert kappa_from_quantile(values, 0.25) == 0.2
    assert kappa_from_quantile(values, 0.3) == 0.2
    assert kappa_from_quantile(values, 0) == 0.1
    with pytest.raises(InputError, match="at least one"):
        kappa_from_quantile([], 0.5)
    with pytest.raises(InputError, match="quantile 2 is impossible"):
        kappa_from_quantile(values, 2)


def test_keep_takes_decided_claims_and_confident_ones() -> None:
    claims = [
        claim(0.1, "aligned"),
        claim(0.1, "contradicted"),
        claim(0.1, "indeterminate"),
        claim(0.1, "error"),
        claim(0.1, "aligned"),
        claim(0.6, "indeterminate"),
    ]
    assert keep(claims, [0, 1, 2, 3], 0.5) == (0, 1, 5)
    # Algorithm 1's line 18 to the letter.
    assert keep(claims, [0, 1, 2, 3], 0.5, all_selected_one=True) == (0, 1, 2, 3, 5)


def test_missing_confidence_names_what_there_is() -> None:
    with pytest.raises(InputError, match=r"no pagerank confidence \(it has: closeness\)"):
        keep([claim(0.1)], [], 0.5, "pagerank")


def test_selection_over_answers() -> None:
    answers = [
        answer("a", [claim(0.4), claim(0.1, boundary=False), claim(0.2)]),
        answer("b", [claim(0.0)], failure=Failure(step="verify", reason="no reply")),
        answer("c", [claim(0.05)], retrieval=Retrieval(status="not_applicable")),
        answer("d", [claim(0.3)]),
    ]
    pools = [candidates_of([one]) for one in answers]
    assert select_among(pools, budget_percent=40, seed=1) == [(2,), (), (), (0,)]
    each = select_among(pools, budget_percent=40, pool="question", seed=1)
    assert each == [(2,), (), (), ()]
    assert select_among(pools, budget_percent=0, tau=0.25, seed=1) == [(2,), (), (), ()]
