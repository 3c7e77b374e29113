"""What the report says of questions by form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flows.report.blocks import Table, Text
from flows.report.run import DomainTable
from rooms.forms.page import SECTION, AnsweredForms, FormsFound, stated
from rooms.forms.records import FAMILY, FormScore
from simulrag.metrics.table import Measurement
from tests.unit.report.made import run_of


def measured(metric: str, condition: str, value: float) -> Measurement:
    return Measurement(
        family=FAMILY,
        domain="book",
        method=condition,
        metric=metric,
        level="overall",
        value=value,
        n=8,
    )


@pytest.mark.parametrize(
    ("alone", "said"),
    [(1.0, "such questions no longer measure this model"), (0.5, "measure what evidence adds")],
)
def test_what_a_model_knows_without_evidence_is_said(alone: float, said: str) -> None:
    rows = [
        measured("accuracy", "nothing", alone),
        measured("accuracy", "library", 1.0),
        measured("exact_folded", "nothing", 1.0),
    ]
    found = FormsFound({"book": AnsweredForms(DomainTable.of("book", rows), ())})
    texts = [
        one.text
        for one in SECTION.blocks(replace(run_of(), rooms={"forms": found}))
        if isinstance(one, Text)
    ]
    assert texts[0].startswith(
        f"book: shown nothing, the model gets {8 * alone:.0f} of 8 choices (with the source 8) and "
        "8 of 8 clozes right: "
    )
    assert said in texts[0]


def test_stated_probabilities_are_held_to_the_numbers() -> None:
    def score(values: dict[str, float]) -> FormScore:
        return FormScore(
            question_id="q",
            scenario_id="s",
            form="freeform",
            level="base",
            condition="nothing",
            text="?",
            reference="12.7",
            values=values,
        )

    scores = [
        score({"p_supports": 0.9, "number": 1.0}),
        score({"p_supports": 1.0, "number": 0.0}),
        score({"p_supports": 0.1, "number": 0.0}),
        score({"p_supports": 0.5}),
    ]
    found = FormsFound({"book": AnsweredForms(DomainTable.of("book", []), (), stated(scores))})
    tables = {
        one.name: one
        for one in SECTION.blocks(replace(run_of(), rooms={"forms": found}))
        if isinstance(one, Table)
    }
    calibration = tables["forms-calibration"]
    assert calibration.rows == (("0 to 20 %", "1", "0.0 %"), ("80 to 100 %", "2", "50.0 %"))
    assert calibration.notes[0] == ("Brier score 0.340 over 3 answers whose reference has numbers.")
