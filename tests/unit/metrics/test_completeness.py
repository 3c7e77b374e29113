"""What a question asks for, and the share that true claims state, worked by hand."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from simulrag.metrics.frames import asked_values, stated
from simulrag.metrics.table import rows_of, select
from simulrag.questions.records import Template
from simulrag.records import FinalClaims, FinalText, Question
from tests.making import (
    answer,
    claim,
    evidence,
    failed,
    final_claims,
    label,
    line,
    question,
)
from tests.unit.metrics.measuring import measured, row


def ask(output: str, *, against: int = 0, scale: str = "value", answers: Any = ()) -> Any:
    classes = [{"name": "small", "from_magnitude": 0}, {"name": "large", "from_magnitude": 10}]
    return {
        "run": 1,
        "against": against,
        "output": output,
        "scale": scale,
        "words": output,
        "classes": [] if answers else classes,
        "answers": list(answers),
        "better": "lower",
    }


def template(*asks: Any, runs: int = 2) -> Template:
    run = {"tool": "run_scenario", "words": "x", "uses": [], "fixed": []}
    return Template.model_validate(
        {
            "template_id": "t",
            "situation": "A road.",
            "placeholders": [],
            "choices": [],
            "runs": [run | {"words": f"run {n}"} for n in range(runs)],
            "asks": list(asks),
        }
    )


TEMPLATE = template(ask("time"), ask("time", against=2, scale="percent"), ask("mood", answers="ab"))


def asked(name: str = "q1", scenario: str = "s1") -> Question:
    runs = [evidence().model_copy(update={"outputs": {"time": t, "mood": "a"}}) for t in (110, 88)]
    return question(name, scenario).model_copy(update={"template_id": "t", "evidence": tuple(runs)})


def test_the_values_are_computed_from_the_runs() -> None:
    # 110 itself, and 25 % more than 88; an output in words has no number.
    assert asked_values(asked(), {"t": TEMPLATE}) == (110, 25)


def test_other_questions_ask_for_nothing_that_is_known() -> None:
    assert asked_values(asked(), {}) == ()
    assert asked_values(question("q", "s"), {"t": TEMPLATE}) == ()
    fewer = asked().model_copy(update={"evidence": asked().evidence[:1]})
    assert asked_values(fewer, {"t": TEMPLATE}) == ()


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (["Mean travel time is 110 s.", "It rises by a quarter."], 1),
        (["Time is 110 s.", "It is up by 25 %."], 2),
        (["It changes by -25.0 percent."], 1),
        (["It is about 24 %."], 0),
        (["It takes 0.1 thousand s."], 1),
        ([], 0),
    ],
)
def test_a_value_is_stated_at_the_claims_own_rounding(texts: list[str], count: int) -> None:
    assert stated((110.0, 25.0), texts) == count


def cell(table: pl.DataFrame, metric: str, failures: str = "excluded") -> dict[str, Any]:
    chosen = {"method": "simulrag", "undecided": "excluded", "failures": failures}
    return row(table, family="answers", metric=metric, **chosen)


ANSWERS = [
    answer("q1", [claim(), claim()], final={"text": "One two three.", "selected": (0, 1)}),
    answer("q2", [claim(status=None)], final={"text": "One.", "selected": (0,)}),
    failed("q3"),
]
FINALS = [
    final_claims("q1", "It is 110 s.", "It rises by 25 %.", "It rises by 26 %."),
    final_claims("q2", "It is 110 s.", "It rises by 25 %."),
]
LABELS = [
    label("q1", "It is 110 s.", "true"),
    label("q1", "It rises by 25 %.", "true"),
    label("q1", "It rises by 26 %.", "false"),
    label("q2", "It is 110 s.", "true"),
    label("q2", "It rises by 25 %.", "false"),  # said, and not true
]
QUESTIONS = [asked("q1"), asked("q2", "s2"), asked("q3", "s3")]


def table_of(finals: list[FinalClaims], **more: Any) -> pl.DataFrame:
    return measured(ANSWERS, LABELS, finals, questions=QUESTIONS, **more)


def test_completeness_words_and_claims_sent_by_hand() -> None:
    table = table_of(FINALS, templates={"t": TEMPLATE})
    # Both values in q1, one of two in q2.
    assert (cell(table, "completeness")["value"], cell(table, "completeness")["n"]) == (0.75, 2)
    assert cell(table, "completeness", "zero")["value"] == 0.5
    assert cell(table, "words")["value"] == 2
    # q2 chose a claim and had no verdict on it: nothing was sent.
    assert cell(table, "claims_sent")["value"] == 1
    assert cell(table, "words", "zero")["reason"].startswith("undefined: a failed question")


def test_completeness_is_undefined_where_nobody_knows_what_is_asked() -> None:
    found = cell(table_of(FINALS), "completeness")
    assert (found["value"], found["n"]) == (None, 0)
    assert found["reason"] == "undefined: no complete question has values that it asks for"


def test_lines_with_kappa_and_without_stay_apart() -> None:
    own = line("simulrag", 1, 25, 0.4)
    without = FinalText(line=line("simulrag", 1, 25, 0.0), text="A b c d.")
    ours = FinalText(line=line("grounded"), text="A b.")
    done = [
        one.model_copy(
            update={
                "final": one.final.model_copy(update={"line": own}),
                "baselines": (without, ours),
            }
        )
        for one in ANSWERS[:2]
    ]
    finals = [
        one.model_copy(update={"line": other})
        for one in FINALS
        for other in (own, without.line, ours.line)
    ]
    table = measured(done, LABELS, finals, questions=QUESTIONS)
    found = select(
        table, family="answers", metric="words", undecided="excluded", failures="excluded"
    )
    assert found.select("method", "kappa", "value").rows() == [
        ("grounded", None, 2.0),
        ("simulrag", 0.4, 2.0),
        ("simulrag", 0.0, 4.0),
    ]
    pairs = select(
        table, family="comparisons", level="answer", metric="words", undecided="excluded"
    )
    (pair,) = rows_of(select(pairs, unit="difference"))
    assert (pair.baseline, pair.number("baseline_budget_percent"), pair.value) == (
        *("simulrag", 25),
        0.0,
    )
    cost = select(table, family="method_cost", level="answer", step="all", metric="calls")
    assert set(cost.select("method", "kappa").iter_rows()) == {
        *(("simulrag", 0.4), ("simulrag", 0.0), ("grounded", None)),
        ("closed_book", None),
    }


def test_a_template_file_that_is_none_is_named(tmp_path: Any) -> None:
    from flows.stages.metrics import read_templates
    from simulrag.errors import InputError

    path = tmp_path / "urban-templates.json"
    assert read_templates(path) == {}
    more = {"set_up": "A road of 1000 m."}
    path.write_text(json.dumps([{**TEMPLATE.model_dump(mode="json"), **more}]))
    assert read_templates(path) == {"t": TEMPLATE}
    path.write_text('[{"template_id": 3}]')
    with pytest.raises(InputError, match=r"urban-templates.json is not a file of templates"):
        read_templates(path)
