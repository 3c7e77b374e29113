"""Calibration: a second opinion, known probabilities, and what is undefined."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

from simulrag.metrics.table import select
from simulrag.records import Answer, Label
from tests.making import answer, claim, failed, label
from tests.unit.metrics.measuring import dicts, measured, measured_study
from tests.unit.metrics.synthetic import study


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


def rows_of(table: pl.DataFrame, method: str, budget: int, metric: str) -> list[dict[str, Any]]:
    where = {"method": method, "budget_percent": budget, "metric": metric}
    return dicts(select(table, family="calibration", undecided="excluded", **where))


@pytest.mark.parametrize("method", ["no_rag", "verbalized"])
def test_against_scikit_learn(method: str) -> None:
    answers, labels = drawn(30, 0.0)
    rows = rows_of(measured(answers, labels), method, 0, "reliability")
    claims = [one for record in answers for one in record.claims]
    scores = [c.confidence["closeness"] if method == "no_rag" else c.verbalized for c in claims]
    true = [one.label == "true" for one in labels]
    share, mean = calibration_curve(true, scores, n_bins=10, strategy="uniform")
    assert [row["value"] for row in rows] == pytest.approx(share, abs=1e-6)
    assert [row["x"] for row in rows] == pytest.approx(mean, abs=1e-6)
    size = np.array([row["n"] for row in rows])
    (error,) = rows_of(measured(answers, labels), method, 0, "ece")
    expected = (size * np.abs(share - mean)).sum() / size.sum()
    assert error["value"] == pytest.approx(expected, abs=1e-6)
    assert error["n"] == len(claims)


def test_known_probabilities() -> None:
    (fair,) = rows_of(measured(*drawn(120, 0.0)), "no_rag", 0, "ece")
    (bold,) = rows_of(measured(*drawn(120, 0.2)), "no_rag", 0, "ece")
    assert fair["value"] < 0.05
    # The shift is 0.2 but for confidences below it, which cannot be less true than never.
    expected = 0.8 * 0.2 + 0.2 * 0.1
    assert bold["value"] == pytest.approx(expected, abs=0.04)
    assert bold["lower_95"] < expected < bold["upper_95"]


def test_verification_moves_decided_claims_to_the_top_bin() -> None:
    data = study(30)
    tables = measured_study(data)
    before = {row["bin"]: row["n"] for row in rows_of(tables, "no_rag", 0, "reliability")}
    after = {row["bin"]: row["n"] for row in rows_of(tables, "ue_sba", 45, "reliability")}
    assert 10 not in before
    assert after[10] > 0
    top = rows_of(tables, "all_rag", 100, "reliability")[-1]
    assert (top["bin"], top["x"]) == (10, 1.0)
    assert top["value"] > 0.85


def test_undefined_is_said() -> None:
    lost = measured([failed("q")])
    (row,) = rows_of(lost, "no_rag", 0, "ece")
    assert (row["value"], row["reason"]) == (None, "undefined: no labelled claim")
    printed = [answer("q", [claim("A.", 19.5)])]
    (row,) = rows_of(measured(printed, [label("q", "A.", "true")]), "no_rag", 0, "ece")
    assert row["reason"] == "undefined: these scores are not shares between 0 and 1"


def test_foresight_within_kinds_is_scikit_learns_auroc() -> None:
    rng = random.Random(3)
    answers, labels, rows = [], [], []
    for number in range(20):
        claims = []
        for place in range(12):
            states = place % 2 == 0
            text = f"It falls by {place} %." if states else f"It falls {'abcdefghijkl'[place]}."
            true = rng.random() < (0.2 if states else 0.8)
            agreement, stated = rng.random(), round((true + rng.random()) / 2, 2)
            claims.append(claim(text, agreement, verbalized=stated))
            labels.append(label(f"q{number}", text, "true" if true else "false"))
            rows.append((states, true, agreement, stated))
        answers.append(answer(f"q{number}", claims))
    table = measured(answers, labels)
    for level, kept in (
        ("all", rows),
        ("number", [row for row in rows if row[0]]),
        ("other", [row for row in rows if not row[0]]),
    ):
        true, agreement, stated = zip(*(row[1:] for row in kept), strict=True)
        expected = [roc_auc_score(true, agreement), roc_auc_score(true, stated)]
        values = [row["value"] for row in dicts(select(table, family="foresight", level=level))]
        assert values == pytest.approx([*expected, expected[1] - expected[0]], abs=1e-6)


def test_without_stated_confidence_nothing_is_foreseen() -> None:
    answers = [answer("q", [claim("It falls by 2 %.", 0.4, verbalized=None)])]
    table = measured(answers, [label("q", "It falls by 2 %.", "true")])
    assert dicts(select(table, family="foresight")) == []
