"""Calibration: against scikit-learn, on known probabilities, and where it is undefined."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from simulrag.metrics.tables import Tables, evaluate
from simulrag.report.calibration import (
    calibration_view,
    reliability_figure,
    reliability_text,
)
from simulrag.report.rendering import inline_svg
from sklearn.calibration import calibration_curve

from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, Label
from tests.unit.metrics.synthetic import answer, claim, failed, label, study

FAST = MetricSettings(bootstrap=100, random_seeds=3)


def drawn(questions: int, shift: float) -> tuple[list[Answer], list[Label]]:
    """Claims that are true with the probability of their confidence, less ``shift``."""
    rng = random.Random(11)
    answers, labels = [], []
    for number in range(questions):
        name = f"q{number}"
        claims = []
        for place in range(12):
            confidence = rng.random()
            text = f"Claim {place}."
            claims.append(claim(text, confidence, verbalized=round(rng.random(), 2)))
            true = rng.random() < confidence - shift
            labels.append(label(name, text, "true" if true else "false"))
        answers.append(answer(name, claims))
    return answers, labels


def tables_of(answers: list[Answer], labels: list[Label]) -> Tables:
    scenarios = {one.question_id: f"s-{one.question_id}" for one in answers}
    return evaluate(answers, labels, [], scenarios, FAST)


def rows_of(tables: Tables, method: str, budget: int, metric: str) -> list[dict[str, Any]]:
    frame = tables.calibration.filter(
        (pl.col("method") == method)
        & (pl.col("budget_percent") == budget)
        & (pl.col("metric") == metric)
        & (pl.col("undecided") == "excluded")
    )
    return list(frame.iter_rows(named=True))


@pytest.mark.parametrize("method", ["no-RAG", "Verbalized"])
def test_against_scikit_learn(method: str) -> None:
    answers, labels = drawn(30, 0.0)
    rows = rows_of(tables_of(answers, labels), method, 0, "reliability")
    claims = [one for record in answers for one in record.claims]
    scores = [c.confidence["closeness"] if method == "no-RAG" else c.verbalized for c in claims]
    true = [one.label == "true" for one in labels]
    share, mean = calibration_curve(true, scores, n_bins=10, strategy="uniform")
    assert [row["value"] for row in rows] == pytest.approx(share, abs=1e-6)
    assert [row["confidence"] for row in rows] == pytest.approx(mean, abs=1e-6)
    size = np.array([row["n"] for row in rows])
    (error,) = rows_of(tables_of(answers, labels), method, 0, "ece")
    expected = (size * np.abs(share - mean)).sum() / size.sum()
    assert error["value"] == pytest.approx(expected, abs=1e-6)
    assert error["n"] == len(claims)


def test_known_probabilities() -> None:
    (fair,) = rows_of(tables_of(*drawn(120, 0.0)), "no-RAG", 0, "ece")
    (bold,) = rows_of(tables_of(*drawn(120, 0.2)), "no-RAG", 0, "ece")
    assert fair["value"] < 0.05
    # The shift is 0.2 but for confidences below it, which cannot be less true than never.
    expected = 0.8 * 0.2 + 0.2 * 0.1
    assert bold["value"] == pytest.approx(expected, abs=0.04)
    assert bold["lower_95"] < expected < bold["upper_95"]


def test_verification_moves_decided_claims_to_the_top_bin() -> None:
    data = study(30)
    tables = evaluate(data.answers, data.labels, data.finals, data.scenario_of, FAST)
    before = {row["bin"]: row["n"] for row in rows_of(tables, "no-RAG", 0, "reliability")}
    after = {row["bin"]: row["n"] for row in rows_of(tables, "UE+SBA", 45, "reliability")}
    assert 10 not in before
    assert after[10] > 0
    top = rows_of(tables, "all-RAG", 100, "reliability")[-1]
    assert (top["bin"], top["confidence"]) == (10, 1.0)
    assert top["value"] > 0.85


def test_undefined_is_said_and_drawn() -> None:
    lost = evaluate([failed("q")], [], [], {"q": "s"}, FAST)
    (row,) = rows_of(lost, "no-RAG", 0, "ece")
    assert (row["value"], row["reason"]) == (None, "undefined: no labelled claim")
    assert "undefined: the notes" in inline_svg(reliability_figure(lost, "urban"), "lost")
    printed = [answer("q", [claim("A.", 19.5)])]
    (row,) = rows_of(tables_of(printed, [label("q", "A.", "true")]), "no-RAG", 0, "ece")
    assert row["reason"] == "undefined: these scores are no shares between 0 and 1"


def test_the_figure_says_what_it_shows() -> None:
    data = study(12)
    tables = evaluate(data.answers, data.labels, data.finals, data.scenario_of, FAST)
    first = inline_svg(reliability_figure(tables, "urban"), "one")
    assert first == inline_svg(reliability_figure(tables, "urban"), "one")
    for name in ("before", "stated by the model", "UE+SBA, 25 %", "all verified"):
        assert name in first
    text = reliability_text(tables, "urban")
    assert text.startswith("Share of true claims against confidence, urban. before: ")
    assert "UE+SBA, 25 %: " in text
    view = calibration_view(tables, "urban")
    assert [row[0] for row in view.rows] == [
        *("no-RAG", "Verbalized", "UE+SBA", "UE+SBA", "UE+SBA", "all-RAG")
    ]
