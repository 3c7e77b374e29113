"""Final answers: unique true claims, their share, failed questions, and their standings."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from simulrag.errors import InputError
from simulrag.metrics.headline import headline
from simulrag.metrics.table import only, select
from simulrag.records import Answer, AnswerVariant, FinalClaims, FinalText, Standing, Statement
from tests.making import answer, claim, failed, final_claims, label, line
from tests.unit.metrics.measuring import FAST, measured, row

ANSWERS = [answer("q1", [claim()]), answer("q2", [claim()]), failed("q3")]


def final(
    question: str,
    *texts: str,
    method: str = "simulrag",
    samples: int = 1,
    budget: float | None = None,
    failure: str | None = None,
) -> FinalClaims:
    return final_claims(question, *texts, of=line(method, samples, budget), failure=failure)


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


def cell(table: pl.DataFrame, metric: str, **where: Any) -> dict[str, Any]:
    chosen = {"method": "simulrag", "undecided": "excluded", "failures": "excluded", **where}
    return row(table, family="answers", metric=metric, **chosen)


def test_by_hand() -> None:
    tables = measured(ANSWERS, LABELS, FINALS)
    found = cell(tables, "informativeness")
    # "A." and "  a. " are one claim: q1 has one true claim of two, q2 two of two.
    assert (found["value"], found["n"]) == (1.5, 2)
    assert found["coverage"] == pytest.approx(2 / 3, abs=1e-6)
    assert cell(tables, "factuality")["value"] == 0.75
    assert cell(tables, "factuality_per_question")["value"] == 0.75
    assert cell(tables, "undecided_claims")["value"] == 0.5
    strict = cell(tables, "factuality", undecided="false")
    assert strict["value"] == 0.6


def test_false_claims_by_hand() -> None:
    # "B." in q1 and nothing in q2; with undecided claims counted false, "C." too.
    tables = measured(ANSWERS, LABELS, FINALS)
    assert (cell(tables, "false_claims")["value"], cell(tables, "false_claims")["n"]) == (0.5, 2)
    assert cell(tables, "false_claims", undecided="false")["value"] == 1.0
    failed = cell(tables, "false_claims", failures="zero")
    assert (failed["value"], failed["reason"]) == (
        None,
        "undefined: a failed question has no answer to look at",
    )


def test_failures_as_zero() -> None:
    tables = measured(ANSWERS, LABELS, FINALS)
    found = cell(tables, "informativeness", failures="zero")
    assert (found["value"], found["n"]) == (1.0, 3)
    assert cell(tables, "factuality_per_question", failures="zero")["value"] == 0.5
    pooled = cell(tables, "factuality", failures="zero")
    assert pooled["value"] is None
    assert pooled["reason"] == "undefined: a failed question adds no claims to the pooled share"


def test_a_failed_decomposition_is_a_failed_question() -> None:
    finals = [FINALS[0], final("q2", failure="no reply")]
    tables = measured(ANSWERS, LABELS, finals)
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
    tables = measured(ANSWERS, LABELS, finals)
    gap = row(
        tables,
        family="comparisons",
        level="answer",
        metric="factuality",
        undecided="excluded",
        unit="difference",
    )
    assert (gap["method"], gap["baseline"], gap["value"]) == ("simulrag", "closed_book", 0.5)
    assert (gap["n"], gap["coverage"]) == (1, pytest.approx(1 / 3, abs=1e-6))


def test_lines_carry_their_budget_and_the_largest_leads() -> None:
    finals = [
        *(final("q1", "A.", samples=5, budget=100), final("q2", "A.", samples=5, budget=100)),
        *(final("q1", "B.", samples=5, budget=25), final("q2", "D.", samples=5, budget=25)),
        *(final("q1", "B.", budget=25), final("q2", "D.", budget=25)),
        *FINALS[2:],
    ]
    table = measured(ANSWERS, LABELS, finals)
    assert cell(table, "factuality", samples=5, budget_percent=100)["value"] == 1.0
    assert cell(table, "factuality", samples=5, budget_percent=25)["value"] == 0.5
    pairs = select(table, family="comparisons", level="answer", unit="percent", metric="factuality")
    pairs = select(pairs, undecided="excluded").select("samples", "budget_percent", "baseline")
    assert pairs.rows() == [(5, 100, "closed_book"), (5, 25, "closed_book"), (1, 25, "closed_book")]
    short = headline(table, FAST)
    assert (short["factuality"], short["factuality_at_25"]) == (1.0, 0.5)
    assert short["factuality_input_rag"] is None


def test_a_missing_label_takes_the_question_out() -> None:
    tables = measured(ANSWERS, LABELS[:-1], FINALS)
    found = cell(tables, "informativeness")
    assert (found["value"], found["n"]) == (1.0, 1)
    assert found["coverage"] == pytest.approx(1 / 3, abs=1e-6)


def test_all_failed() -> None:
    tables = measured([failed("q1")], [], [final("q1", failure="no reply")])
    found = cell(tables, "factuality")
    assert (found["value"], found["reason"]) == (None, "undefined: no question completed")
    assert cell(tables, "informativeness", failures="zero")["value"] == 0.0


def test_all_failed_before_there_was_a_final_answer() -> None:
    tables = measured([failed("q1")], [], [])
    for method in ("simulrag", "closed_book"):
        found = cell(tables, "informativeness", method=method)
        assert (found["value"], found["n"], found["coverage"]) == (None, 0, 0.0)
    assert headline(tables, FAST)["factuality"] is None


def test_duplicated_rows() -> None:
    with pytest.raises(InputError, match="'q1' is there twice for simulrag at m = 1"):
        measured(ANSWERS, LABELS, [*FINALS, FINALS[0]])
    with pytest.raises(InputError, match="'q9' has no answer"):
        measured(ANSWERS, LABELS, [final("q9")])


OURS = line("grounded")
STATEMENTS = (
    Statement(text="A.", standing="checked"),
    Statement(text="B, mended.", standing="corrected", before="B."),
    Statement(text="C.", standing="wrong"),
    Statement(text="D.", standing="beyond"),
    Statement(text="It is 136 s.", standing="added"),
)


def record(name: str, *statements: Statement, **more: Any) -> Answer:
    return answer(name, [], final={"line": OURS, "statements": statements}, **more)


def marked(name: str, line: AnswerVariant = OURS) -> FinalClaims:
    return final_claims(name, "A.", of=line)


OF_STATEMENTS = [
    label("q1", "A.", "true"),
    label("q1", "B.", "false"),
    label("q1", "B, mended.", "true"),
    label("q1", "C.", "false"),
    label("q1", "D.", "undecided"),
    label("q2", "A.", "true"),
    label("q2", "B, mended.", "false"),
    label("q2", "It is 136 s.", "true"),
]


def table(*answers: Answer, finals: list[FinalClaims]) -> pl.DataFrame:
    there = {one.question_id for one in answers}
    labels = [one for one in OF_STATEMENTS if one.question_id in there]
    return select(measured(answers, labels, finals), family="standings")


def counts(found: pl.DataFrame, standing: Standing) -> tuple[float | None, ...]:
    metrics = ("true", "false", "undecided", "unlabelled")
    return tuple(only(found, level=standing, metric=metric) for metric in metrics)


@pytest.fixture(scope="module")
def both() -> pl.DataFrame:
    """Two questions with all statements, and one that failed."""
    answers = record("q1", *STATEMENTS), record("q2", *STATEMENTS), failed("q3")
    return table(*answers, finals=[marked("q1"), marked("q2")])


def test_statements_count_by_their_label(both: pl.DataFrame) -> None:
    assert counts(both, "checked") == (2, 0, 0, 0)
    # The label is that of the correction, not of what was corrected.
    assert counts(both, "corrected") == (1, 1, 0, 0)
    assert counts(both, "wrong") == (0, 1, 0, 1)
    assert counts(both, "beyond") == (0, 0, 1, 1)
    assert counts(both, "added") == (1, 0, 0, 1)


def test_the_share_is_of_true_and_false_ones(both: pl.DataFrame) -> None:
    corrected = row(both, level="corrected", metric="true_share")
    assert (corrected["value"], corrected["n"]) == (0.5, 2)
    assert only(both, level="wrong", metric="true_share") == 0
    nothing = row(both, level="beyond", metric="true_share")
    assert (nothing["value"], nothing["n"]) == (None, 0)
    assert nothing["reason"] == "undefined: none is labelled true or false"
    assert set(select(both, metric="true")["n"]) == {2}


def test_a_line_that_marks_nothing_has_no_standings() -> None:
    paper = line("simulrag", 1, 100, 0.2)
    done = record("q1", *STATEMENTS, baselines=(FinalText(line=paper),))
    found = table(done, finals=[marked("q1"), marked("q1", paper)])
    assert set(found["method"]) == {"grounded"}
    assert table(answer("q1", [claim("A.")]), finals=[marked("q1", line())]).is_empty()
