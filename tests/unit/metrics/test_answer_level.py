"""Answer-level metrics: unique true claims, their share, and failed questions."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from simulrag.metrics.tables import Tables, evaluate

from simulrag.errors import InputError
from simulrag.metrics.settings import MetricSettings
from simulrag.records import FinalClaims
from tests.unit.metrics.synthetic import answer, claim, failed, label

FAST = MetricSettings(bootstrap=100, random_seeds=1)
ANSWERS = [answer("q1", [claim()]), answer("q2", [claim()]), failed("q3")]
SCENARIOS = {"q1": "s1", "q2": "s2", "q3": "s3"}


def final(
    question: str,
    *texts: str,
    method: str = "simulrag",
    samples: int = 1,
    failure: str | None = None,
) -> Any:
    row = {"question_id": question, "method": method, "samples": samples}
    return FinalClaims.model_validate({**row, "claims": texts, "failure": failure})


FINALS = [
    final("q1", "A.", "B.", "  a. ", "C."),
    final("q2", "A.", "D."),
    final("q1", "B.", method="closed_book"),
    final("q2", "A.", method="closed_book"),
]
LABELS = [
    label("q1", "A.", "true"),
    label("q1", "B.", "false"),
    label("q1", "C.", "undecided"),
    label("q2", "A.", "true"),
    label("q2", "D.", "true"),
]


def cell(tables: Tables, metric: str, **where: str) -> dict[str, Any]:
    chosen = {"method": "SimulRAG", "undecided": "excluded", "failures": "excluded", **where}
    return tables.answer_level.row(
        by_predicate=pl.all_horizontal(
            pl.col("metric") == metric, *(pl.col(name) == value for name, value in chosen.items())
        ),
        named=True,
    )


def test_by_hand() -> None:
    tables = evaluate(ANSWERS, LABELS, FINALS, SCENARIOS, FAST)
    found = cell(tables, "informativeness")
    # "A." and "  a. " are one claim: q1 has one true claim of two, q2 two of two.
    assert (found["value"], found["n"]) == (1.5, 2)
    assert found["coverage"] == pytest.approx(2 / 3, abs=1e-6)
    assert cell(tables, "factuality")["value"] == 0.75
    assert cell(tables, "factuality_per_question")["value"] == 0.75
    strict = cell(tables, "factuality", undecided="false")
    assert strict["value"] == 0.6


def test_failures_as_zero() -> None:
    tables = evaluate(ANSWERS, LABELS, FINALS, SCENARIOS, FAST)
    found = cell(tables, "informativeness", failures="zero")
    assert (found["value"], found["n"]) == (1.0, 3)
    assert cell(tables, "factuality_per_question", failures="zero")["value"] == 0.5
    pooled = cell(tables, "factuality", failures="zero")
    assert pooled["value"] is None
    assert pooled["reason"] == "undefined: a failed question adds no claims to the pooled share"


def test_a_failed_decomposition_is_a_failed_question() -> None:
    finals = [FINALS[0], final("q2", failure="no reply")]
    tables = evaluate(ANSWERS, LABELS, finals, SCENARIOS, FAST)
    found = cell(tables, "informativeness")
    assert (found["value"], found["n"]) == (1.0, 1)
    assert found["coverage"] == pytest.approx(1 / 3, abs=1e-6)
    zero = cell(tables, "informativeness", failures="zero")
    assert (zero["value"], zero["n"]) == (pytest.approx(1 / 3, abs=1e-6), 3)
    share = cell(tables, "factuality_per_question", failures="zero")
    assert share["value"] == pytest.approx(0.5 / 3, abs=1e-6)


def test_difference_to_closed_book_is_paired() -> None:
    # Closed book fails on q2: the difference is that of q1 alone.
    finals = [*FINALS[:3], final("q2", method="closed_book", failure="cut short")]
    tables = evaluate(ANSWERS, LABELS, finals, SCENARIOS, FAST)
    gap = tables.comparisons.row(
        by_predicate=(pl.col("level") == "answer")
        & (pl.col("metric") == "factuality")
        & (pl.col("undecided") == "excluded"),
        named=True,
    )
    assert (gap["method"], gap["baseline"], gap["difference"]) == ("SimulRAG", "Closed book", 0.5)


def test_a_missing_label_takes_the_question_out() -> None:
    tables = evaluate(ANSWERS, LABELS[:-1], FINALS, SCENARIOS, FAST)
    found = cell(tables, "informativeness")
    assert (found["value"], found["n"]) == (1.0, 1)
    assert found["coverage"] == pytest.approx(1 / 3, abs=1e-6)


def test_all_failed() -> None:
    tables = evaluate([failed("q1")], [], [final("q1", failure="no reply")], SCENARIOS, FAST)
    found = cell(tables, "factuality")
    assert (found["value"], found["reason"]) == (None, "undefined: no question completed")
    assert cell(tables, "informativeness", failures="zero")["value"] == 0.0


def test_all_failed_before_there_was_a_final_answer() -> None:
    tables = evaluate([failed("q1")], [], [], SCENARIOS, FAST)
    for method in ("SimulRAG", "Closed book"):
        found = cell(tables, "informativeness", method=method)
        assert (found["value"], found["n"], found["coverage"]) == (None, 0, 0.0)
    assert tables.summary["urban.factuality.simulrag.m1"] is None


def test_duplicated_rows() -> None:
    with pytest.raises(InputError, match="'q1' is there twice for simulrag at m = 1"):
        evaluate(ANSWERS, LABELS, [*FINALS, FINALS[0]], SCENARIOS, FAST)
    with pytest.raises(InputError, match="'q9' has no answer"):
        evaluate(ANSWERS, LABELS, [final("q9")], SCENARIOS, FAST)
