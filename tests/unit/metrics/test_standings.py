"""How many statements of each standing are true, worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from simulrag.metrics.table import only, select
from simulrag.records import Answer, AnswerVariant, FinalClaims, FinalText, Standing, Statement
from tests.making import answer, claim, failed, final_claims, label, line
from tests.unit.metrics.measuring import measured, row

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


def final(name: str, line: AnswerVariant = OURS) -> FinalClaims:
    return final_claims(name, "A.", of=line)


LABELS = [
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
    labels = [one for one in LABELS if one.question_id in there]
    return select(measured(answers, labels, finals), family="standings")


def counts(found: pl.DataFrame, standing: Standing) -> tuple[float | None, ...]:
    metrics = ("true", "false", "undecided", "unlabelled")
    return tuple(only(found, level=standing, metric=metric) for metric in metrics)


@pytest.fixture(scope="module")
def both() -> pl.DataFrame:
    """Two questions with all statements, and one that failed."""
    answers = record("q1", *STATEMENTS), record("q2", *STATEMENTS), failed("q3")
    return table(*answers, finals=[final("q1"), final("q2")])


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
    found = table(done, finals=[final("q1"), final("q1", paper)])
    assert set(found["method"]) == {"grounded"}
    assert table(answer("q1", [claim("A.")]), finals=[final("q1", line())]).is_empty()
