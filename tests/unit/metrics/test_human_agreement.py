"""Agreement of people and judge: against independent computations, and where it is undefined."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from simulrag.judging.people.agreement import JUDGE, JUDGE_DECIDED, PEOPLE
from simulrag.metrics.tables import Tables, evaluate
from sklearn.metrics import cohen_kappa_score

from simulrag.metrics.settings import MetricSettings
from simulrag.records import HumanLabel, LabelValue
from simulrag.report.page import RunSummary, report_html
from tests.unit.metrics.people import given
from tests.unit.metrics.synthetic import Study, study
from tests.unit.metrics.test_report import Page, traces_of

FAST = MetricSettings(bootstrap=200, random_seeds=3)
VALUES: tuple[LabelValue, ...] = ("true", "false", "undecided")


def tables_of(data: Study, human: Sequence[HumanLabel]) -> Tables:
    return evaluate(data.answers, data.labels, data.finals, data.scenario_of, FAST, human=human)


def cell(tables: Tables, between: str, metric: str) -> dict[str, Any]:
    return tables.agreement.row(
        by_predicate=(pl.col("between") == between) & (pl.col("metric") == metric), named=True
    )


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
    row = cell(tables, "ann and bob", "cohen_kappa")
    assert row["value"] == pytest.approx(cohen_kappa_score(first, second), abs=1e-6)
    assert row["n"] == len(ann)
    assert row["lower_95"] < row["value"] < row["upper_95"]
    equal = sum(a == b for a, b in zip(first, second, strict=True)) / len(ann)
    assert cell(tables, "ann and bob", "agreement")["value"] == pytest.approx(equal, abs=1e-6)
    assert cell(tables, PEOPLE, "agreement")["value"] == pytest.approx(equal, abs=1e-6)
    # What people said at odds is no word of theirs: the judge is held against the rest.
    agreed = [
        (judge.label, a.label)
        for judge, a, b in zip(data.labels, ann, bob, strict=True)
        if a.label == b.label
    ]
    row = cell(tables, JUDGE, "cohen_kappa")
    assert row["n"] == len(agreed)
    expected = cohen_kappa_score(*map(list, zip(*agreed, strict=True)))
    assert row["value"] == pytest.approx(expected, abs=1e-6)
    decided = [pair for pair in agreed if pair[0] != "undecided"]
    row = cell(tables, JUDGE_DECIDED, "agreement")
    assert row["n"] == len(decided)
    equal = sum(a == b for a, b in decided) / len(decided)
    assert row["value"] == pytest.approx(equal, abs=1e-6)


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
    row = cell(tables_of(data, human), PEOPLE, "fleiss_kappa")
    assert (row["value"], row["n"]) == (pytest.approx(7 / 15, abs=1e-6), 4)
    third = given("cy", "true", texts[0][1], texts[0][0])
    row = cell(tables_of(data, [*human, third]), PEOPLE, "fleiss_kappa")
    assert row["n"] == 3


def test_undefined_is_said_without_a_warning() -> None:
    data = study(4)
    one = data.labels[0]
    human = [given(name, "true", one.text, one.question_id) for name in ("ann", "bob")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = tables_of(data, human)
    for between, metric in (("ann and bob", "cohen_kappa"), (PEOPLE, "fleiss_kappa")):
        row = cell(tables, between, metric)
        assert (row["value"], row["reason"]) == (
            None,
            "undefined: only one label was ever given",
        )
    assert cell(tables, PEOPLE, "agreement")["reason"] == "no interval: one scenario only"


def test_nobody_labelled() -> None:
    tables = tables_of(study(4), [])
    assert tables.agreement.is_empty()
    assert tables.human_labels.is_empty()


def test_the_report_shows_agreement_and_every_disagreement() -> None:
    data = study(6)
    human = [*noisy(data, "ann", 0.4, 1), *noisy(data, "bob", 0.0, 2)]
    hostile = given("<b>eve</b>", "false", data.labels[0].text, data.labels[0].question_id)
    tables = tables_of(data, [*human, hostile])
    differs = tables.human_labels.filter(
        (pl.col("how") == "disputed") | (pl.col("judge") != pl.col("human"))
    )
    html = report_html(
        RunSummary(models={"answer": "m"}, offline=False),
        tables,
        questions=data.questions,
        answers=data.answers,
        labels=data.labels,
    )
    assert f"{len(differs)} of {len(tables.human_labels)} labelled claims" in html
    assert "judge and people" in html
    assert "<b>eve" not in html
    assert "by people (disputed, not settled): ann: " in json.dumps(traces_of(Page(html)))
    plain = report_html(
        RunSummary(models={"answer": "m"}, offline=False),
        tables_of(data, []),
        questions=data.questions,
        answers=data.answers,
        labels=data.labels,
    )
    assert "Human labels" not in plain
