"""How many statements of each standing are true, worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from simulrag.metrics.table import only, select
from simulrag.records import Answer, FinalClaims, FinalText, Line, Standing, Statement
from tests.making import answer, claim, failed, final_claims, label, line
from tests.unit.metrics.measuring import measured, row

OWN = "It is 136 s."
"""What no sampled answer had claimed."""
COMPLETED = line("reconciled_complete", 1, 100, 0.2)


def says(text: str, standing: Standing, claim: int | None = None) -> Statement:
    return Statement(text=text, standing=standing, claim=claim)


STATEMENTS = (
    says("A. (simulator: 12)", "checked", 0),
    says("B, mended.", "corrected", 1),
    says("C.", "unchecked", 2),
    says("D.", "outside", 3),
    says(OWN, "simulated"),
)


def record(name: str, *statements: Statement, **more: Any) -> Answer:
    claims = [
        claim("A."),
        claim("B.", status="contradicted", updated="B, mended."),
        claim("C.", status=None),
        claim("D.", status=None, boundary=False),
    ]
    return answer(name, claims, final={"line": COMPLETED, "statements": statements}, **more)


def final(name: str, line: Line = COMPLETED, *texts: str) -> FinalClaims:
    return final_claims(name, *(texts or ("A.",)), of=line)


LABELS = [
    label("q1", "A.", "true"),
    label("q1", "B.", "false"),
    label("q1", "B, mended.", "true"),
    label("q1", "C.", "false"),
    label("q1", "D.", "undecided"),
    label("q2", "A.", "true"),
    label("q2", "B, mended.", "false"),
    label("q2", OWN, "true"),
]


def table(*answers: Answer, finals: list[FinalClaims]) -> pl.DataFrame:
    there = {one.question_id for one in answers}
    labels = [one for one in LABELS if one.question_id in there]
    return select(measured(answers, labels, finals), family="standings")


def counts(found: pl.DataFrame, standing: Standing, **where: Any) -> tuple[float | None, ...]:
    metrics = ("true", "false", "undecided", "unlabelled")
    return tuple(only(found, level=standing, metric=metric, **where) for metric in metrics)


@pytest.fixture(scope="module")
def both() -> pl.DataFrame:
    """Two questions with all statements, and one that failed."""
    answers = record("q1", *STATEMENTS), record("q2", *STATEMENTS), failed("q3")
    return table(*answers, finals=[final("q1"), final("q2", COMPLETED, OWN)])


def test_statements_count_by_the_label_behind_them(both: pl.DataFrame) -> None:
    # The label is that of the claim, whatever value stands behind it in the statement.
    assert counts(both, "checked") == (2, 0, 0, 0)
    # The label is that of the correction, not of what was corrected.
    assert counts(both, "corrected") == (1, 1, 0, 0)
    assert counts(both, "unchecked") == (0, 1, 0, 1)
    assert counts(both, "outside") == (0, 0, 1, 1)


def test_what_no_claim_made_is_labelled_where_an_answer_says_it(both: pl.DataFrame) -> None:
    assert counts(both, "simulated") == (1, 0, 0, 1)


def test_the_share_is_of_true_and_false_ones(both: pl.DataFrame) -> None:
    corrected = row(both, level="corrected", metric="true_share")
    assert (corrected["value"], corrected["n"]) == (0.5, 2)
    assert only(both, level="unchecked", metric="true_share") == 0
    nothing = row(both, level="outside", metric="true_share")
    assert (nothing["value"], nothing["n"]) == (None, 0)
    assert nothing["reason"] == "undefined: none is labelled true or false"
    assert set(select(both, metric="true")["n"]) == {2}


def test_each_reconciled_line_has_its_own_and_others_have_none() -> None:
    smaller, paper = line("reconciled", 1, 25, 0.2), line("simulrag", 1, 100, 0.2)
    said = FinalText(line=smaller, statements=(says("A.", "unchecked", 0),))
    done = record("q1", *STATEMENTS, baselines=(said, FinalText(line=paper)))
    finals = [final("q1"), final("q1", smaller), final("q1", paper)]
    found = table(done, finals=finals)
    lines = set(found.select("method", "budget_percent", "kappa").iter_rows())
    assert lines == {
        ("SimulRAG reconciled, completed", 100, 0.2),
        ("SimulRAG reconciled", 25, 0.2),
    }
    assert counts(found, "unchecked", budget_percent=25) == (1, 0, 0, 0)
    assert select(found, budget_percent=25, level="checked").is_empty()


def test_an_answer_that_says_nothing_of_the_kind_has_no_standings() -> None:
    assert table(answer("q1", [claim("A.")]), finals=[final("q1", line())]).is_empty()
