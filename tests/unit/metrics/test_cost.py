"""What answering costs, and what a method x budget would cost by itself, worked by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from simulrag.method.settings import ClaimsPerCall
from simulrag.metrics.exports import UNCOUNTED, Estimated, Exported
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import only, select
from simulrag.records import Answer, Failure, FinalText, Usage
from tests.making import answer, claim, label, line
from tests.unit.metrics.measuring import measured, measured_study, row
from tests.unit.metrics.synthetic import study

STEPS = {
    "plan": 1,
    "closed_book": 5,
    "decompose": 5,
    "merge": 4,
    "entailment": 5,
    "boundary": 4,
    "verbalized": 4,
    "verify": 4,
    "final": 1,
}


def record() -> Answer:
    claims = [
        claim(f"Claim {i}.", 0.1 * (i + 1), boundary=i < 2).model_copy(
            update={"sources": ((i % 2, 0),)}
        )
        for i in range(4)
    ]
    return answer(
        "q",
        claims,
        closed_book=tuple("abcde"),
        final={"selected": (0,)},
        usage={name: Usage(calls=n, input_tokens=10 * n) for name, n in STEPS.items()},
        baselines=(
            FinalText(line=line("output_rag"), usage=used(output_rag=1)),
            FinalText(line=line("input_rag"), usage=used(input_rag=1)),
            FinalText(line=line("simulrag"), selected=(0,), usage=used(final=1)),
            FinalText(line=line("simulrag", 5, 50), selected=(0, 1), usage=used(final=1)),
        ),
    )


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    done = record()
    labels = [label("q", one.text, "true") for one in done.claims]
    settings = MetricSettings(budgets_percent=(25, 50), bootstrap=100, selection_seeds=3)
    return measured([done], labels, settings=settings)


def total(table: pl.DataFrame, **where: Any) -> tuple[float | None, ...]:
    names = ("calls", "simulator_runs", "input_tokens")
    where |= {"family": "method_cost", "step": "all"}
    return tuple(only(table, metric=name, **where) for name in names)


@pytest.mark.parametrize(
    ("method", "budget", "calls", "runs"),
    [
        ("no_rag", 0, 5 + 5 + 4 + 5 + 1, 0),
        ("random", 25, 20 + 1 + 1, 1),
        ("uncertainty", 50, 20 + 1 + 2, 1),
        ("ue_sba", 50, 20 + 1 + 2 + 4, 1),
        ("verbalized", 25, 5 + 5 + 4 + 1 + 1 + 1 + 4, 1),  # its own ranking needs no entailment
        ("all_rag", 100, 20 + 1 + 4, 1),
    ],
)
def test_claim_level(
    table: pl.DataFrame, method: str, budget: int, calls: float, runs: float
) -> None:
    found = total(table, level="claim", method=method, budget_percent=budget)
    assert list(found) == pytest.approx([calls, runs, 10 * calls])


@pytest.mark.parametrize(
    ("line", "calls", "runs"),
    [
        (("simulrag", 5, None), 20 + 1 + 4 + 1, 1),
        (("simulrag", 5, 50), 20 + 1 + 4 + 2, 1),
        (("simulrag", 1, None), 1 + 1 + 1 + 2 + 1 + 1, 1),  # 2 of 4 claims are the first sample's
        (("closed_book", 1, None), 1, 0),
        (("input_rag", 1, None), 1 + 1, 1),
        (("output_rag", 1, None), 1 + 1 + 1, 1),
    ],
)
def test_answer_level(
    table: pl.DataFrame, line: tuple[str, int, int | None], calls: float, runs: float
) -> None:
    where = dict(zip(("method", "samples", "budget_percent"), line, strict=True))
    assert list(total(table, level="answer", **where)[:2]) == pytest.approx([calls, runs])


def test_steps_add_up(table: pl.DataFrame) -> None:
    for family in ("cost", "method_cost"):
        lines = select(table, family=family, metric="calls")
        keys = ["level", "method", "samples", "budget_percent"]
        parts = lines.filter(pl.col("step") != "all").group_by(keys).agg(pl.col("value").sum())
        both = parts.join(select(lines, step="all"), on=keys, nulls_equal=True)
        assert len(both) == len(select(lines, step="all"))
        assert both["value"].to_list() == pytest.approx(both["value_right"].to_list())


def test_a_study_costs_what_its_answers_used() -> None:
    table = measured_study(study(12))
    assert only(table, family="cost", step="closed_book", metric="calls") == 5.0
    assert only(table, family="cost", step="all", metric="simulator_runs") == 1.0


def test_tokens_that_nobody_counted_are_estimated_beside() -> None:
    usage = {"closed_book": Usage(calls=5), "verify_batch": Usage(calls=1)}
    done = answer("q", [claim("A.")], usage=usage)
    tasks = {"closed_book": Estimated(10, 400.0, 80.0), "verify_batch": Estimated(2, 20.0, 6.0)}
    table = measured(
        [done],
        [label("q", "A.", "true")],
        exported={"answer": Exported((), tasks)},
    )
    unknown = row(table, family="cost", step="all", metric="input_tokens")
    assert (unknown["value"], unknown["reason"]) == (None, UNCOUNTED)
    assert only(table, family="cost", step="all", metric="calls") == 6
    assert only(table, family="cost", step="all", metric="input_tokens_estimated") == 210
    assert only(table, family="cost", step="all", metric="output_tokens_estimated") == 43
    lines = select(table, family="method_cost", level="claim", method="no_rag", step="all")
    assert only(lines, metric="input_tokens_estimated") == 200
    # A task that the export does not tell leaves the sum unknown and not too small.
    table = measured([done], [label("q", "A.", "true")])
    assert select(table, metric="input_tokens_estimated").is_empty()


SAMPLED = {"closed_book": 5, "decompose": 5, "merge": 4, "entailment": 5}
BATCHED = {"plan": 1, "boundary_batch": 1, "verbalized_batch": 2, "verify_batch": 2}
FIRST = 12
"""Claims of the first sample, of 27."""


def used(**calls: int) -> dict[str, Usage]:
    return {task: Usage(calls=number) for task, number in calls.items()}


def default_record(sent: int = 8) -> Answer:
    """What the default settings ask for one question of 27 claims."""
    claims = [
        claim(f"Claim {i}.", 0.5).model_copy(update={"sources": ((0 if i < FIRST else 1, i),)})
        for i in range(27)
    ]

    def text(method: str, samples: int, selected: int = 0, **calls: int) -> FinalText:
        own = line(method, samples, 100 if selected else None)
        return FinalText(line=own, selected=tuple(range(selected)), usage=used(**calls))

    return answer(
        "q",
        claims,
        closed_book=tuple("abcde"),
        final={"line": line("simulrag", 5, 100), "selected": range(sent)},
        usage=used(**SAMPLED, **BATCHED, final=1),
        baselines=(
            text("input_rag", 1, input_rag=1),
            text("output_rag", 1, output_rag=1),
            text("simulrag", 1, sent, final=1),
        ),
    )


def bill(done: Answer, **more: Any) -> pl.DataFrame:
    """What each way to write the answer would cost by itself."""
    settings = MetricSettings(budgets_percent=(25,), bootstrap=100, selection_seeds=3)
    labels = [label("q", one.text, "true") for one in done.claims]
    table = measured([done], labels, settings=settings, **more)
    return select(table, family="method_cost")


@pytest.fixture(scope="module")
def default() -> pl.DataFrame:
    return bill(default_record())


@pytest.mark.parametrize(
    ("method", "samples", "calls", "chain"),
    [
        ("closed_book", 1, 1, 1),
        ("input_rag", 1, 2, 2),
        ("output_rag", 1, 3, 2),  # tools are called while the closed book answers
        ("simulrag", 1, 6, 5),
        ("simulrag", 5, 23, 8),
    ],
)
def test_calls_of_the_default_and_how_many_wait_for_one_another(
    default: pl.DataFrame, method: str, samples: int, calls: int, chain: int
) -> None:
    line = select(default, level="answer", method=method, samples=samples, step="all")
    assert only(line, metric="calls") == calls
    assert only(line, metric="chain") == chain


def test_a_chain_is_told_of_whole_answers_only(default: pl.DataFrame) -> None:
    told = select(default, metric="chain")
    assert set(told.select("level", "step").iter_rows()) == {("answer", "all")}


@pytest.mark.parametrize(
    ("sent", "size", "calls"), [(0, 20, None), (1, 20, 1), (8, 20, 1), (21, 20, 2), (8, 14, 1)]
)
def test_a_verification_call_is_counted_for_as_many_claims_as_it_holds(
    sent: int, size: int, calls: int | None
) -> None:
    table = bill(default_record(sent=sent), claims_per_call=ClaimsPerCall(verify=size))
    line = select(table, method="simulrag", samples=5, metric="calls")
    assert only(line, step="verify") == calls


def test_a_claim_that_is_verified_by_itself_is_a_call() -> None:
    done = default_record()
    alone = {"verify": Usage(calls=27), "boundary": Usage(calls=27)}
    asked = {task: used for task, used in done.usage.items() if task not in BATCHED}
    table = bill(done.model_copy(update={"usage": asked | alone}))
    line = select(table, level="answer", method="simulrag", metric="calls")
    assert only(line, samples=5, step="verify") == 8
    assert only(line, samples=5, step="boundary") == 27
    assert only(line, samples=1, step="boundary") == FIRST


def test_a_random_selection_is_the_mean_of_whole_calls_over_its_seeds() -> None:
    done = [default_record(), default_record().model_copy(update={"question_id": "r"})]
    labels = [label(one.question_id, own.text, "true") for one in done for own in one.claims]
    settings = MetricSettings(budgets_percent=(45,), bootstrap=100, selection_seeds=7)
    sizes = ClaimsPerCall(verify=14)
    table = measured(done, labels, settings=settings, claims_per_call=sizes)
    lines = select(table, family="method_cost", budget_percent=45, step="verify", metric="calls")
    found = only(lines, method="random")
    # 24 of 54 claims: 7 times two calls or three, for two questions.
    assert found is not None
    assert found * 2 * 7 == pytest.approx(round(found * 2 * 7), abs=1e-4)
    assert 1 <= found <= 1.5


def test_stated_confidence_is_charged_to_those_who_rank_by_it(default: pl.DataFrame) -> None:
    calls = select(default, level="claim", step="verbalized", metric="calls")
    assert dict(calls.select("method", "value").iter_rows()) == {
        "verbalized": 2,
        "verbalized_by_centrality": 2,
    }


def test_a_claim_level_line_writes_the_published_methods_answer(default: pl.DataFrame) -> None:
    calls = select(default, level="claim", metric="calls")
    assert set(select(calls, step="final")["value"]) == {1}
    assert only(calls, method="no_rag", step="all") == 19 + 1
    assert only(calls, method="ue_sba", budget_percent=25, step="all") == 20 + 1 + 1 + 1


def test_who_failed_has_sent_nothing_and_paid_for_the_rest() -> None:
    done = default_record()
    gone = {"failure": Failure(step="final", reason="no reply"), "baselines": ()}
    empty = done.final.model_copy(update={"selected": ()})
    broken = done.model_copy(update={**gone, "final": empty})
    calls = select(bill(broken), level="claim", method="all_rag", metric="calls")
    assert only(calls, step="closed_book") == 5
    assert only(calls, step="verify") is None
