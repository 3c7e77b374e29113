"""The method's settings: what stands where nothing is said, and what follows from what is."""

from __future__ import annotations

import pytest

from simulrag.method.settings import MethodSettings


def test_the_default_is_the_grounded_method_alone_as_it_is_recommended() -> None:
    found = MethodSettings()
    assert (found.method, found.beside) == ("grounded", ())
    assert (found.runs, found.looks) == (6, 4)
    assert found.pool == "question"
    calls = found.claims_per_call
    assert (calls.boundary, calls.verify, calls.verbalized) == (40, 20, 20)


def test_what_stands_beside_is_read_from_a_list_and_its_names_are_known() -> None:
    found = MethodSettings.model_validate({"beside": ["paper", "rag"]})
    assert found.beside == ("paper", "rag")
    with pytest.raises(ValueError, match="beside"):
        MethodSettings.model_validate({"beside": ["closed_book"]})


@pytest.mark.parametrize("method", ["grounded", "paper"])
def test_one_question_by_itself_writes_one_answer_and_verifies_what_its_budget_buys(
    method: str,
) -> None:
    given = MethodSettings.model_validate(
        {
            "method": method,
            "pool": "domain",
            "without_kappa": True,
            "beside": ["paper", "rag"],
        }
    )
    found = given.for_one_question(25.0)
    assert found.final_budgets_percent == (25.0,)
    assert given.for_one_question().final_budgets_percent == (100.0,)
    assert (found.verify, found.pool) == ("selected", "question")
    assert (found.beside, found.verbalized, found.without_kappa) == ((), False, False)
