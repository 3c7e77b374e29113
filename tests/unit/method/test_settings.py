"""The method's settings: what stands where nothing is said, and what follows from what is."""

from __future__ import annotations

import pytest

from simulrag.method.settings import MethodSettings


def test_the_default_is_the_grounded_method_alone_as_it_is_recommended() -> None:
    found = MethodSettings()
    assert (found.method, found.beside) == ("grounded", ())
    assert (found.runs, found.looks) == (6, 4)
    assert (found.verify_by, found.merging, found.pool) == ("model", "tree", "question")
    calls = found.claims_per_call
    assert (calls.decompose, calls.boundary, calls.verify, calls.verbalized) == (1, 40, 20, 20)


def test_reconciled_is_verified_by_both_and_said_completely() -> None:
    found = MethodSettings(method="reconciled")
    assert (found.verify_by, found.complete) == ("both", True)


def test_what_stands_beside_is_read_from_a_list_and_its_names_are_known() -> None:
    found = MethodSettings.model_validate({"beside": ["paper", "rag"]})
    assert found.beside == ("paper", "rag")
    with pytest.raises(ValueError, match="beside"):
        MethodSettings.model_validate({"beside": ["closed_book"]})


def test_the_published_method_is_verified_by_reading_unless_another_way_is_named() -> None:
    assert MethodSettings(method="paper").verify_by == "model"
    assert MethodSettings(method="paper", verify_by="range").verify_by == "range"


def test_another_method_brings_its_own_way_to_verify_and_keeps_the_rest() -> None:
    budgets = (10.0, 50.0)
    given = MethodSettings(
        method="reconciled", samples=3, kappa=0.5, final_budgets_percent=budgets, beside=("rag",)
    )
    paper = given.by("paper")
    assert (paper.method, paper.verify_by, paper.beside) == ("paper", "model", ("rag",))
    assert paper.by("reconciled") == given
    assert given.by("grounded").verify_by == "model"


def test_the_same_method_keeps_the_way_to_verify_that_was_named() -> None:
    given = MethodSettings(method="reconciled", verify_by="range")
    assert given.by("reconciled") == given


@pytest.mark.parametrize("method", ["grounded", "paper", "reconciled"])
def test_one_question_by_itself_writes_one_answer_and_verifies_what_its_budget_buys(
    method: str,
) -> None:
    given = MethodSettings.model_validate(
        {
            "method": method,
            "pool": "domain",
            "without_kappa": True,
            "complete": False,
            "beside": ["paper", "rag"],
        }
    )
    found = given.for_one_question(25.0)
    assert found.final_budgets_percent == (25.0,)
    assert given.for_one_question().final_budgets_percent == (100.0,)
    assert (found.verify, found.pool) == ("selected", "question")
    assert (found.beside, found.verbalized, found.without_kappa) == ((), False, False)
    assert found.complete == (method == "reconciled")


def test_arithmetic_alone_is_kept_by_another_method() -> None:
    assert MethodSettings(verify_by="range").by("paper").verify_by == "range"
