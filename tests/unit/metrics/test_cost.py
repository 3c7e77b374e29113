"""What answering costs, and what a method x budget would cost by itself, worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from simulrag.metrics.exports import UNCOUNTED, Estimated, Exported
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import only, select
from simulrag.records import Answer, FinalText, Usage
from tests.unit.metrics.measuring import measured, measured_study, row
from tests.unit.metrics.synthetic import answer, claim, label, study

STEPS = {
    "tool_calls": 1,
    "closed_book": 5,
    "decompose": 5,
    "merge": 4,
    "entailment": 5,
    "boundary": 4,
    "verbalized": 4,
    "verify": 4,
    "final": 1,
}


def record() -> Answer:
    claims = [
        claim(f"Claim {i}.", 0.1 * (i + 1), boundary=i < 2).model_copy(
            update={"sources": ((i % 2, 0),)}
        )
        for i in range(4)
    ]
    return answer(
        "q",
        claims,
        closed_book=tuple("abcde"),
        selected=(0,),
        usage={name: Usage(calls=n, input_tokens=10 * n) for name, n in STEPS.items()},
        baselines=(
            FinalText(method="closed_book", samples=5, usage={"final": Usage(calls=1)}),
            FinalText(method="output_rag", samples=1, usage={"output_rag": Usage(calls=1)}),
            FinalText(method="input_rag", samples=1, usage={"input_rag": Usage(calls=1)}),
            FinalText(method="simulrag", samples=1, selected=(0,), usage={"final": Usage(calls=1)}),
            FinalText(
                method="simulrag",
                samples=5,
                budget_percent=50,
                selected=(0, 1),
                usage={"final": Usage(calls=1)},
            ),
        ),
    )


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    done = record()
    labels = [label("q", one.text, "true") for one in done.claims]
    settings = MetricSettings(budgets_percent=(25, 50), bootstrap=100, random_seeds=3)
    return measured([done], labels, settings=settings)


def total(table: pl.DataFrame, **where: Any) -> tuple[float | None, ...]:
    names = ("calls", "simulator_runs", "input_tokens")
    where |= {"family": "method_cost", "step": "all"}
    return tuple(only(table, metric=name, **where) for name in names)


@pytest.mark.parametrize(
    ("method", "budget", "calls", "runs"),
    [
        ("no-RAG", 0, 5 + 5 + 4 + 5 + 1, 0),
        ("Random", 25, 20 + 1 + 1, 1),
        ("Uncertainty", 50, 20 + 1 + 2, 1),
        ("UE+SBA", 50, 20 + 1 + 2 + 4, 1),
        ("Verbalized", 25, 5 + 5 + 4 + 1 + 1 + 1 + 4, 1),  # its own ranking needs no entailment
        ("all-RAG", 100, 20 + 1 + 4, 1),
    ],
)
def test_claim_level(
    table: pl.DataFrame, method: str, budget: int, calls: float, runs: float
) -> None:
    found = total(table, level="claim", method=method, budget_percent=budget)
    assert found == (pytest.approx(calls), runs, pytest.approx(10 * calls))


@pytest.mark.parametrize(
    ("line", "calls", "runs"),
    [
        (("SimulRAG", 5, None), 20 + 1 + 4 + 1, 1),
        (("SimulRAG", 5, 50), 20 + 1 + 4 + 2, 1),
        (("SimulRAG", 1, None), 1 + 1 + 1 + 2 + 1 + 1, 1),  # 2 of 4 claims are the first sample's
        (("Closed book", 1, None), 1, 0),
        (("Closed book", 5, None), 5 + 5 + 4 + 1, 0),
        (("Input-layer RAG", 1, None), 1 + 1, 1),
        (("Output-layer RAG", 1, None), 1 + 1 + 1, 1),
    ],
)
def test_answer_level(
    table: pl.DataFrame, line: tuple[str, int, int | None], calls: float, runs: float
) -> None:
    where = dict(zip(("method", "samples", "budget_percent"), line, strict=True))
    assert total(table, level="answer", **where)[:2] == (pytest.approx(calls), runs)


def test_steps_add_up(table: pl.DataFrame) -> None:
    for family in ("cost", "method_cost"):
        lines = select(table, family=family, metric="calls")
        keys = ["level", "method", "samples", "budget_percent"]
        parts = lines.filter(pl.col("step") != "all").group_by(keys).agg(pl.col("value").sum())
        both = parts.join(select(lines, step="all"), on=keys, nulls_equal=True)
        assert len(both) == len(select(lines, step="all"))
        assert both["value"].to_list() == pytest.approx(both["value_right"].to_list())


def test_a_study_costs_what_its_answers_used() -> None:
    table = measured_study(study(12))
    assert only(table, family="cost", step="closed_book", metric="calls") == 5.0
    assert only(table, family="cost", step="all", metric="simulator_runs") == 1.0


def test_tokens_that_nobody_counted_are_estimated_beside() -> None:
    usage = {"closed_book": Usage(calls=5), "verify_batch": Usage(calls=1)}
    done = answer("q", [claim("A.")], usage=usage)
    tasks = {"closed_book": Estimated(10, 400.0, 80.0), "verify_batch": Estimated(2, 20.0, 6.0)}
    table = measured(
        [done],
        [label("q", "A.", "true")],
        exported=lambda _: {"answer": Exported((), tasks)},
    )
    unknown = row(table, family="cost", step="all", metric="input_tokens")
    assert (unknown["value"], unknown["reason"]) == (None, UNCOUNTED)
    assert only(table, family="cost", step="all", metric="calls") == 6
    assert only(table, family="cost", step="all", metric="input_tokens_estimated") == 210
    assert only(table, family="cost", step="all", metric="output_tokens_estimated") == 43
    lines = select(table, family="method_cost", level="claim", method="no-RAG", step="all")
    assert only(lines, metric="input_tokens_estimated") == 200
    # A task that the export does not tell leaves the sum unknown and not too small.
    table = measured([done], [label("q", "A.", "true")])
    assert select(table, metric="input_tokens_estimated").is_empty()
