"""What a method x budget would cost alone, worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from simulrag.metrics.tables import Tables, evaluate

from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, FinalText, Usage
from tests.unit.metrics.synthetic import answer, claim, label

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
        ),
    )


@pytest.fixture(scope="module")
def tables() -> Tables:
    done = record()
    labels = [label("q", one.text, "true") for one in done.claims]
    settings = MetricSettings(budgets_percent=(25, 50), bootstrap=100, random_seeds=3)
    return evaluate([done], labels, (), {"q": "s"}, settings)


def total(tables: Tables, **where: Any) -> dict[str, Any]:
    conditions = [pl.col(name) == value for name, value in {"step": "all", **where}.items()]
    return tables.method_cost.row(by_predicate=pl.all_horizontal(conditions), named=True)


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
def test_claim_level(tables: Tables, method: str, budget: int, calls: float, runs: float) -> None:
    found = total(tables, level="claim", method=method, budget_percent=budget)
    assert (found["calls_per_question"], found["simulator_runs_per_question"]) == (
        pytest.approx(calls),
        runs,
    )
    assert found["input_tokens_per_question"] == pytest.approx(10 * calls)


@pytest.mark.parametrize(
    ("method", "samples", "calls", "runs"),
    [
        ("SimulRAG", 5, 20 + 1 + 4 + 1, 1),
        ("SimulRAG", 1, 1 + 1 + 1 + 2 + 1 + 1, 1),  # 2 of 4 claims are the first sample's
        ("Closed book", 1, 1, 0),
        ("Closed book", 5, 5 + 5 + 4 + 1, 0),
        ("Input-layer RAG", 1, 1 + 1, 1),
        ("Output-layer RAG", 1, 1 + 1 + 1, 1),
    ],
)
def test_answer_level(tables: Tables, method: str, samples: int, calls: float, runs: float) -> None:
    found = total(tables, level="answer", method=method, samples=samples)
    assert (found["calls_per_question"], found["simulator_runs_per_question"]) == (
        pytest.approx(calls),
        runs,
    )


def test_steps_add_up(tables: Tables) -> None:
    keys = ["level", "method", "samples", "budget_percent"]
    frame = tables.method_cost
    parts = (
        frame.filter(pl.col("step") != "all").group_by(keys).agg(pl.col("calls_per_question").sum())
    )
    whole = frame.filter(pl.col("step") == "all").select(
        *keys, pl.col("calls_per_question").alias("all")
    )
    both = parts.join(whole, on=keys, nulls_equal=True)
    assert len(both) == len(whole)
    assert both["calls_per_question"].to_list() == pytest.approx(both["all"].to_list())
