"""From records to the long table, as the stage does it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from simulrag.judging.people import HumanLabel, majority_label
from simulrag.metrics.domain import DomainData, domain_data, labels_by_question
from simulrag.metrics.families import measure
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import frame_of, rows_of, select
from simulrag.records import Answer, FinalClaims, Label, Question
from tests.making import question
from tests.unit.metrics.synthetic import Study

FAST = MetricSettings(bootstrap=100, selection_seeds=3)


def data_of(
    answers: Sequence[Answer],
    labels: Iterable[Label] = (),
    finals: Iterable[FinalClaims] = (),
    settings: MetricSettings = FAST,
    *,
    questions: Sequence[Question] | None = None,
    scenario_of: Mapping[str, str] | None = None,
    human: Sequence[HumanLabel] = (),
    **more: Any,
) -> DomainData:
    """A domain's data; without questions each answer has one, in a scenario of its own."""
    if questions is None:
        places = scenario_of or {one.question_id: f"s-{one.question_id}" for one in answers}
        questions = [question(name, scenario) for name, scenario in places.items()]
    return domain_data(
        "urban",
        settings,
        questions=questions,
        answers=answers,
        finals=finals,
        judge=labels_by_question((one.question_id, one.claim_hash, one.label) for one in labels),
        settled=majority_label(human),
        **more,
    )


def measured(*given: Any, **more: Any) -> pl.DataFrame:
    """The long table of ``data_of``."""
    return frame_of(measure(data_of(*given, **more)))


def measured_study(
    data: Study, settings: MetricSettings = FAST, human: Sequence[HumanLabel] = ()
) -> pl.DataFrame:
    return measured(
        data.answers, data.labels, data.finals, settings, questions=data.questions, human=human
    )


def row(table: pl.DataFrame, **where: Any) -> dict[str, Any]:
    """The only row with these values, what is in ``more`` among them."""
    (found,) = dicts(select(table, **where))
    return found


def dicts(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows, what is in ``more`` among the columns."""
    return [dataclasses.asdict(one) | dict(one.more) for one in rows_of(table)]
