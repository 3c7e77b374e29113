"""Agreement of people and judge: against independent computations, and where it is undefined."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from simulrag.judging.people import HumanLabel
from simulrag.metrics.families.agreement import JUDGE, JUDGE_DECIDED, PEOPLE, fleiss_kappa
from simulrag.records import LabelValue
from tests.unit.metrics.measuring import measured_study, row
from tests.unit.metrics.people import given
from tests.unit.metrics.synthetic import Study, study

VALUES: tuple[LabelValue, ...] = ("true", "false", "undecided")


def tables_of(data: Study, human: Sequence[HumanLabel]) -> pl.DataFrame:
    return measured_study(data, human=human)


def cell(table: pl.DataFrame, between: str, metric: str) -> dict[str, Any]:
    return row(table, family="agreement", between=between, metric=metric)


def noisy(data: Study, annotator: str, rate: float, seed: int) -> list[HumanLabel]:
    """The judge's labels, a share of them replaced by any."""
    rng = random.Random(seed)
    labels = []
    for one in data.labels:
        assert one.label is not None
        label = rng.choice(VALUES) if rng.random() < rate else one.label
        labels.append(given(annotator, label, one.text, one.question_id))
    return labels


def test_against_scikit_learn() -> None:
    data = study(30)
    ann, bob = noisy(data, "ann", 0.3, 1), noisy(data, "bob", 0.5, 2)
    tables = tables_of(data, [*ann, *bob])
    first, second = [one.label for one in ann], [one.label for one in bob]
    found = cell(tables, "ann and bob", "cohen_kappa")
    assert found["value"] == pytest.approx(cohen_kappa_score(first, second), abs=1e-6)
    assert found["n"] == len(ann)
    assert found["lower_95"] < found["value"] < found["upper_95"]
    equal = sum(a == b for a, b in zip(first, second, strict=True)) / len(ann)
    assert cell(tables, "ann and bob", "agreement")["value"] == pytest.approx(equal, abs=1e-6)
    assert cell(tables, PEOPLE, "agreement")["value"] == pytest.approx(equal, abs=1e-6)
    # What people said at odds is no word of theirs: the judge is held against the rest.
    agreed = [
        (judge.label, a.label)
        for judge, a, b in zip(data.labels, ann, bob, strict=True)
        if a.label == b.label
    ]
    found = cell(tables, JUDGE, "cohen_kappa")
    assert found["n"] == len(agreed)
    expected = cohen_kappa_score(*map(list, zip(*agreed, strict=True)))
    assert found["value"] == pytest.approx(expected, abs=1e-6)
    decided = [pair for pair in agreed if pair[0] != "undecided"]
    found = cell(tables, JUDGE_DECIDED, "agreement")
    assert found["n"] == len(decided)
    equal = sum(a == b for a, b in decided) / len(decided)
    assert found["value"] == pytest.approx(equal, abs=1e-6)


def test_fleiss_worked_by_hand() -> None:
    data = study(4, failures=0)
    texts = [(one.question_id, one.text) for one in data.labels[:4]]
    said = (("true", "true"), ("true", "false"), ("false", "false"), ("true", "true"))
    human = [
        given(name, label, text, question)  # type: ignore[arg-type]
        for (question, text), pair in zip(texts, said, strict=True)
        for name, label in zip(("ann", "bob"), pair, strict=True)
    ]
    # 3 of 4 pairs are equal; 5 of 8 labels are true: (3/4 - 34/64) / (1 - 34/64) = 7/15.
    found = cell(tables_of(data, human), PEOPLE, "fleiss_kappa")
    assert (found["value"], found["n"]) == (pytest.approx(7 / 15, abs=1e-6), 4)
    third = given("cy", "true", texts[0][1], texts[0][0])
    found = cell(tables_of(data, [*human, third]), PEOPLE, "fleiss_kappa")
    assert found["n"] == 3


def test_undefined_is_said_without_a_warning() -> None:
    data = study(4)
    one = data.labels[0]
    human = [given(name, "true", one.text, one.question_id) for name in ("ann", "bob")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = tables_of(data, human)
    for between, metric in (("ann and bob", "cohen_kappa"), (PEOPLE, "fleiss_kappa")):
        found = cell(tables, between, metric)
        assert (found["value"], found["reason"]) == (
            None,
            "undefined: only one label was ever given",
        )
    assert cell(tables, PEOPLE, "agreement")["reason"] == "no interval: one scenario only"


def test_fleiss_against_statsmodels() -> None:
    counts = np.random.default_rng(5).multinomial(4, [0.5, 0.3, 0.2], size=30)
    (kappa,) = fleiss_kappa(counts, np.ones((1, 30)))
    assert kappa == pytest.approx(fleiss_of_statsmodels(counts))
