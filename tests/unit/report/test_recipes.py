"""What a reader chooses between: price and quality of each way to write an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from flows.report.recipes import (
    QUALITY,
    VariantSummary,
    pooled,
    recipes_of,
    to_choose_from,
)
from simulrag.metrics.methods import CLOSED_BOOK, GROUNDED, SIMULRAG
from simulrag.metrics.table import Measurement
from simulrag.records import AnswerVariant

INPUT_RAG = "input_rag"


def line(
    method: str,
    samples: int,
    budget: float | None = None,
    kappa: float | None = None,
    *,
    questions: int = 10,
    **values: float | None,
) -> Iterator[Measurement]:
    """The rows of one kind of answer: its ``values``, a share true and a number of calls."""
    for metric, value in {"factuality": 0.5, "calls": 2.0, **values}.items():
        quality = metric in QUALITY
        yield Measurement(
            family="answers" if quality else "method_cost",
            domain="urban",
            method=method,
            metric=metric,
            samples=samples,
            budget_percent=budget,
            kappa=kappa,
            value=value,
            n=questions,
            undecided="excluded" if quality else "",
            failures="excluded" if quality else "",
            level="" if quality else "answer",
            step="" if quality else "all",
        )


def of(*lines: Iterator[Measurement]) -> list[VariantSummary]:
    return recipes_of([row for rows in lines for row in rows], "excluded")


def names(recipes: Sequence[VariantSummary]) -> list[str]:
    return [recipe.name for recipe in recipes]


def everything(kappa: float) -> list[VariantSummary]:
    """Every recipe, in no order, with ``kappa`` and without."""
    ours = [(SIMULRAG, m, budget) for m in (5, 1) for budget in (100.0, 25.0)]
    others = [GROUNDED, "output_rag", "rag_looks"]
    return of(
        *(line(method, samples, budget, kappa) for method, samples, budget in ours),
        *(line(method, samples, budget, 0.0) for method, samples, budget in ours if samples > 1),
        *(line(method, 1) for method in (*others, INPUT_RAG, CLOSED_BOOK)),
    )


def test_price_and_quality_come_together() -> None:
    (recipe,) = of(line(SIMULRAG, 5, 25.0, 0.3, chain=6.0, informativeness=8.1, completeness=None))
    assert recipe.line == AnswerVariant(method="simulrag", samples=5, budget_percent=25, kappa=0.3)
    assert (recipe.method, recipe.questions) == (SIMULRAG, 10)
    found = [recipe.value(metric) for metric in ("calls", "chain", "informativeness", "factuality")]
    assert found == [2.0, 6.0, 8.1, 0.5]
    assert (recipe.value("completeness"), recipe.value("words")) == (None, None)


@pytest.mark.parametrize(
    "other",
    [
        {"undecided": "false"},
        {"failures": "zero"},
        {"family": "comparisons"},
        {"family": "method_cost", "level": "claim", "step": "all"},
        {"family": "method_cost", "level": "answer", "step": "verify"},
    ],
)
def test_a_row_of_another_table_or_variant_is_no_part_of_a_recipe(other: dict[str, str]) -> None:
    mine = list(line(SIMULRAG, 5, informativeness=4.0))
    fields: dict[str, Any] = {"undecided": "excluded", "failures": "excluded", "family": "answers"}
    fields |= {"domain": "urban", "method": SIMULRAG, "samples": 5, "value": 9.0, **other}
    theirs = [
        Measurement(**fields, metric=name) for name in ("factuality", "informativeness", "calls")
    ]
    (recipe,) = recipes_of([*mine, *theirs], "excluded")
    assert [recipe.value(name) for name in ("factuality", "informativeness", "calls")] == [
        *(0.5, 4.0, 2.0)
    ]


def test_what_was_never_measured_as_an_answer_is_none() -> None:
    price = [row for row in line(CLOSED_BOOK, 1) if row.family == "method_cost"]
    assert recipes_of(price, "excluded") == []


def test_one_sample_comes_before_several_and_small_budgets_before_large_ones() -> None:
    assert names(everything(0.3)) == [
        *("closed book", "input RAG", "output RAG", "RAG by looks"),
        *("paper 25 %, m = 1", "paper 100 %, m = 1"),
        *("paper 25 %, no kappa", "paper 25 %", "paper 100 %, no kappa", "paper 100 %"),
        "grounded",
    ]


def test_some_eight_are_to_choose_from() -> None:
    assert names(to_choose_from(everything(0.3))) == [
        *("closed book", "input RAG", "output RAG", "RAG by looks", "paper 100 %, m = 1"),
        *("paper 25 %", "paper 100 %", "grounded"),
    ]
    assert to_choose_from([]) == []


def test_a_run_that_drops_no_claim_is_to_choose_from_as_well() -> None:
    found = of(line(CLOSED_BOOK, 1), line(SIMULRAG, 5, 25.0, 0.0))
    assert [one.method for one in to_choose_from(found)] == [CLOSED_BOOK, SIMULRAG]


def test_a_share_is_pooled_over_counts() -> None:
    few = of(line(INPUT_RAG, 1, questions=5, informativeness=8.0, false_claims=0.0, calls=2.0))
    many = of(line(INPUT_RAG, 1, questions=15, informativeness=2.0, false_claims=6.0, calls=4.0))
    (together,) = pooled([few, many])
    # 40 true claims and none false beside 30 true and 90 false; the mean of shares is 0.625.
    assert together.value("factuality") == pytest.approx(70 / 160)
    assert together.value("informativeness") == pytest.approx(70 / 20)
    assert together.value("calls") == pytest.approx((5 * 2 + 15 * 4) / 20)
    assert (together.name, together.questions) == ("input RAG", 20)


def test_what_a_domain_has_not_or_does_not_know_is_not_made_up() -> None:
    first = of(line(INPUT_RAG, 1, informativeness=2.0, words=90.0), line(CLOSED_BOOK, 1))
    second = of(line(INPUT_RAG, 1, informativeness=2.0))
    (together,) = pooled([first, second])
    assert together.name == "input RAG"
    assert (together.value("informativeness"), together.value("words")) == (2.0, None)
    assert together.value("factuality") is None  # nobody counted false claims
    assert pooled([]) == []


def test_recipes_of_different_kappas_are_one_over_domains() -> None:
    (together,) = pooled([of(line(SIMULRAG, 5, 25.0, kappa)) for kappa in (0.3, 0.4)])
    assert (together.name, together.questions) == ("paper 25 %", 20)
