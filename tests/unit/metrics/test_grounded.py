"""A grounded answer measured: what it costs, how far its marks hold, and what stands beside it."""

from __future__ import annotations

import io
from itertools import chain
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from flows.report.recipes import measured_recipes
from flows.report.run import DomainTable, ReportedRun
from flows.report.terminal import terminal_table
from simulrag.metrics.families import measure
from simulrag.metrics.headline import sample
from simulrag.metrics.table import frame_of, only, rows_of, select
from simulrag.records import (
    Answer,
    AnswerVariant,
    FinalClaims,
    FinalText,
    Label,
    Retrieval,
    Standing,
    Statement,
    Usage,
)
from tests.making import answer, claim, evidence, final_claims, label, line
from tests.unit.metrics.measuring import FAST, data_of, measured
from tests.unit.report.made import SUMMARY

GROUNDED = line("grounded")
RAG, LOOKS, ALONE = line("input_rag"), line("rag_looks"), line("closed_book")
PAPER, SMALL, ONE = line(samples=5, budget=100), line(samples=5, budget=25), line(budget=100)
BESIDE = (RAG, line("output_rag"), LOOKS, PAPER, SMALL, ONE)
SAID: tuple[tuple[str, Standing], ...] = (
    ("It rises.", "checked"),
    ("By 12 percent.", "corrected"),
    ("It is noisy.", "judgement"),
    ("Freight stops.", "beyond"),
)


def used(**calls: int) -> dict[str, Usage]:
    return {task: Usage(calls=number) for task, number in calls.items()}


def grounded(
    name: str = "q",
    *,
    looks: tuple[int, ...] = (1, 3),
    own: dict[str, int] | None = None,
    **more: Any,
) -> Answer:
    """An answer after these looks, then one more run for what was open; the others beside it.

    ``own``: the calls that only it needed, which count among the question's too.
    """
    runs = (looks[-1] if looks else 0) + 1
    statements = [Statement(text=text, standing=standing) for text, standing in SAID]
    final = {"line": GROUNDED, "text": "It rises.", "statements": statements}
    own = own or {"input_rag": 1, "audit": 1, "second_look": 1, "verify_batch": 1, "mend": 1}
    written = {"simulrag": {"final": 1}, "rag_looks": {"input_rag": 1}}
    beside = tuple(
        FinalText(line=one, usage=used(**written.get(one.method, {one.method: 1})))
        for one in BESIDE
    )
    shared = {"plan": 1, "more_calls": len(looks) - 1, "closed_book": 5, "decompose": 5, "merge": 4}
    fields: dict[str, Any] = {
        "closed_book": tuple("abcde"),
        "final": {**final, "usage": used(**own)},
        "baselines": beside,
        "usage": used(**{**shared, **own, "verify_batch": 2}),
        "retrieval": Retrieval(
            status="retrieved",
            looks=looks,
            evidence=[evidence(speed_factor=at / 10) for at in range(runs)],
        ),
        "simulator_runs": runs,
        **more,
    }
    return answer(name, fields.pop("claims", [claim()]), **fields)


def alone(name: str) -> Answer:
    """One with nothing beside it: no claims, no closed book."""
    done = grounded(name, claims=(), baselines=(), usage=used(plan=1))
    return done.model_copy(update={"closed_book": ()})


def finals(name: str, *lines: AnswerVariant) -> list[FinalClaims]:
    return [final_claims(name, "It rises.", of=one) for one in lines]


def labels(name: str) -> list[Label]:
    """What is true of the statements, of the claim and of the final answers."""
    return [
        label(name, claim().text, "true"),
        label(name, "It rises.", "true"),
        label(name, "By 12 percent.", "false"),
        label(name, "It is noisy.", "undecided"),
    ]


def of(
    *answers: Answer, lines: tuple[AnswerVariant, ...] = (GROUNDED, *BESIDE, ALONE)
) -> pl.DataFrame:
    return measured(
        answers,
        [one for done in answers for one in labels(done.question_id)],
        [one for done in answers for one in finals(done.question_id, *lines)],
    )


def cost(table: pl.DataFrame, one: AnswerVariant) -> pl.DataFrame:
    named = {"samples": one.samples, "budget_percent": one.budget_percent}
    names = {"grounded": "grounded", "rag_looks": "rag_looks", "simulrag": "simulrag"}
    names |= {"input_rag": "input_rag", "output_rag": "output_rag"}
    lines = select(table, family="method_cost", level="answer", method=names[one.method])
    return select(lines, **{key: value for key, value in named.items() if value is not None})


def test_a_grounded_answer_costs_its_own_calls_and_those_that_looked() -> None:
    found = select(cost(of(grounded()), GROUNDED), metric="calls")
    assert dict(found.select("step", "value").iter_rows()) == {
        **{"plan": 1, "more_calls": 1, "input_rag": 1, "audit": 1},
        **{"second_look": 1, "verify": 1, "mend": 1},
        "all": 7,
    }
    assert only(cost(of(grounded()), GROUNDED), metric="chain") == 7


@pytest.mark.parametrize(
    ("one", "runs", "calls"),
    [
        (GROUNDED, 4, 7),
        (LOOKS, 3, 3),  # plan, more_calls and the answer
        (RAG, 1, 2),
        (line("output_rag"), 1, 3),
        (PAPER, 1, 1 + 5 + 5 + 4 + 1),
        (ONE, 1, 1 + 1 + 1 + 1),
    ],
)
def test_each_pays_for_the_looks_that_it_rests_on(
    one: AnswerVariant, runs: int, calls: int
) -> None:
    found = select(cost(of(grounded()), one), step="all")
    assert only(found, metric="simulator_runs") == runs
    assert only(found, metric="calls") == calls


def test_a_closed_book_answer_of_its_own_is_no_sample_of_the_others() -> None:
    """A question without evidence: what is asked for the answer itself is the answer's."""
    nothing: dict[str, Any] = {"retrieval": Retrieval(status="not_applicable"), "simulator_runs": 0}
    usage = used(plan=1, closed_book=6, decompose=5, merge=4)
    table = of(grounded(own={"closed_book": 1}, **nothing, usage=usage))
    found = {"grounded": cost(table, GROUNDED), "paper": cost(table, PAPER)}
    calls = {name: only(one, step="closed_book", metric="calls") for name, one in found.items()}
    assert calls == {"grounded": 1, "paper": 5}


def test_a_selection_beside_it_pays_for_the_first_look_too() -> None:
    table = select(of(grounded()), family="method_cost", level="claim", step="all")
    assert only(table, method="ue_sba", budget_percent=25, metric="simulator_runs") == 1
    assert only(table, method="no_rag", metric="simulator_runs") == 0


def lines_of(table: pl.DataFrame, family: str) -> set[str]:
    return set(select(table, family=family)["method"])


def test_rag_by_looks_is_left_out_where_nobody_looked_twice() -> None:
    once, twice = grounded("q1", looks=(2,)), grounded("q2", looks=(1, 3))
    for family in ("answers", "method_cost"):
        assert "rag_looks" not in lines_of(of(once), family)
        assert "rag_looks" in lines_of(of(once, twice), family)
        assert "input_rag" in lines_of(of(once), family)


def test_labels_of_statements_are_not_of_unknown_texts() -> None:
    table = select(of(grounded()), family="coverage")
    assert only(table, metric="labels_unknown") == 0
    stale = [*labels("q"), label("q", "Of an older answer.", "true")]
    table = measured([grounded()], stale, finals("q", GROUNDED))
    assert only(table, family="coverage", metric="labels_unknown") == 1


def test_it_is_compared_with_closed_book_rag_and_the_published_method_at_its_largest() -> None:
    table = select(of(grounded("q1"), grounded("q2")), family="comparisons", level="answer")
    ours = select(table, method="grounded")
    columns = ("baseline", "baseline_budget_percent", "baseline_samples")
    assert {tuple(map(one.get, columns)) for one in rows_of(ours)} == {
        ("input_rag", None, 1),
        ("output_rag", None, 1),
        ("rag_looks", None, 1),
        ("closed_book", None, 1),
        ("simulrag", 100, 5),
    }
    assert "grounded" not in set(table["baseline"])


def reported(*answers: Answer) -> ReportedRun:
    given = [one for done in answers for one in labels(done.question_id)[1:]]
    told = [one for done in answers for one in finals(done.question_id, GROUNDED)]
    rows = measure(data_of(answers, given, told))
    return ReportedRun(FAST, (DomainTable.of("urban", list(rows)),), SUMMARY)


def test_a_domain_with_nothing_beside_is_watched_by_its_answers_alone() -> None:
    done, own = alone("q"), labels("q")[1:]
    found = sample(data_of([done], own, finals("q", GROUNDED)), resamples=20, stream="before")
    assert set(found.values) == {"informativeness", "factuality"}


@pytest.fixture(scope="module")
def run() -> ReportedRun:
    """Of ``answer.beside: []``."""
    return reported(alone("q1"), alone("q2"))


def test_a_domain_with_nothing_beside_is_measured_for_what_there_is(run: ReportedRun) -> None:
    table = frame_of(chain.from_iterable(map(run.domains[0].rows, run.domains[0].families)))
    assert lines_of(table, "answers") == {"grounded"}
    (recipe,) = measured_recipes(run, run.domains[0])
    assert (recipe.name, recipe.value("factuality")) == ("grounded", 1)
    assert select(table, family="comparisons").is_empty()


def test_a_domain_with_nothing_beside_is_printed(run: ReportedRun) -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(terminal_table(run))
    lines = console.export_text().splitlines()
    assert [line.split()[0] for line in lines if "1.00" in line] == ["grounded"]
    assert "true statements by mark: checked 2 of 2, corrected 0 of 2" in lines
    assert not any("sampled answers" in line or "AUROC" in line for line in lines)
