"""What stages say of what they made: a benchmark of too few questions, answers to make again."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.params import load_params
from flows.project import Project
from flows.running.runner import StageContext, check_coverage
from flows.stages.answer import holds_failure
from flows.stages.answer import stage_table as answer_table
from flows.stages.benchmark import STAGE, _shortened, hints, stage_table
from flows.watch.tracking import Tracker
from simulrag.errors import CoverageFailed, CoverageShort, ReplyInvalid
from simulrag.questions.generation import BenchmarkSummary
from simulrag.records import Answer, AnswerVariant, Failure, FinalText
from simulrag.stage import Outcome
from tests.making import answer, claim, failed
from tests.recorded import ROOT


def summary(exhausted: bool, **rejected: int) -> BenchmarkSummary:
    return BenchmarkSummary(
        domain="urban",
        requested=2000,
        accepted=1374,
        templates=10,
        scenarios=1380,
        rejected=sum(rejected.values()),
        rejected_by_reason=rejected,
        simulator_failures=0,
        exhausted=exhausted,
    )


def said(made: BenchmarkSummary) -> str:
    project = Project(ROOT)
    params = load_params(project.params).with_operations(min_coverage=0.95)
    outcome = Outcome("", {}, made.accepted, made.requested, hints(made))
    with pytest.raises(CoverageFailed) as caught:
        check_coverage(
            StageContext(STAGE, project, params, "urban", project.results, Tracker()), outcome
        )
    return str(caught.value)


@pytest.mark.parametrize(
    ("done", "report_from", "error"),
    [
        (20, 0.5, None),
        (19, 0.5, None),
        (18, 0.5, CoverageShort),
        (10, 0.5, CoverageShort),
        (9, 0.5, CoverageFailed),
        (0, 0.0, CoverageShort),
        (18, 1.0, CoverageFailed),
    ],
)
def test_a_stage_that_comes_short_may_be_enough_for_a_report(
    done: int, report_from: float, error: type[CoverageFailed] | None
) -> None:
    project = Project(ROOT)
    limits = {"min_coverage": 0.95, "report_from": report_from}
    params = load_params(project.params).with_operations(**limits)
    context = StageContext(STAGE, project, params, "urban", project.results)
    outcome = Outcome("", {}, done, 20, ("why",))
    if error is None:
        check_coverage(context, outcome)
        return
    with pytest.raises(CoverageFailed, match=f"{done} of 20 came through.*why") as caught:
        check_coverage(context, outcome)
    assert type(caught.value) is error
    assert caught.value.exit_code == 1


def test_how_many_scenarios_there_are_and_what_to_do() -> None:
    words = said(summary(True, number=6))
    assert "benchmark-urban: 1374 of 2000 came through" in words
    assert "rejected: 6 for number" in words
    assert "the 10 templates have 1380 distinct scenarios and no more" in words
    assert "lower benchmark.questions" in words
    assert "simulrag retry" not in words  # it would make the same ones again


def test_rejections_alone() -> None:
    words = said(summary(False, number=626))
    assert "rejected: 626 for number" in words
    assert "distinct scenarios" not in words


def test_a_template_that_was_left_out_stands_in_the_table_and_in_the_summary() -> None:
    why = "fast: there is no tool 'fly' (tools: a | b)"
    made = summary(False).model_copy(update={"dropped_templates": (why,)})
    assert (
        "| template left out: fast: there is no tool 'fly' (tools: a \\| b) | 1 |"
        in stage_table(made)
    )
    assert made.model_dump()["dropped_templates"] == (why,)
    assert "dropped_templates" not in summary(False).model_dump()  # summaries keep their bytes


def test_a_reply_of_many_problems_is_cut_and_kept_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "benchmark-urban-reply.txt"
    short = ReplyInvalid("first a; then b")
    assert _shortened(short, file) is short
    assert not file.exists()
    said = str(_shortened(ReplyInvalid("t: there is no tool 'fly'; " * 50), file))
    assert said.endswith(f"... (all of it: {file})")
    assert file.read_text().count("there is no tool") == 50


RAG = AnswerVariant(method="input_rag", samples=1)
MEND = Failure(step="second_look", reason="no reply")


def test_the_table_counts_the_steps_that_answers_stand_without() -> None:
    answers = [answer(name, failed_steps=(MEND,) * (name != "a")) for name in "abc"]
    assert "| answered, but second look failed | 2 |" in answer_table("urban", answers)
    assert "but" not in answer_table("urban", answers[:1])


@pytest.mark.parametrize(
    ("record", "again"),
    [
        (answer("q", [claim()]), False),
        (failed("q"), True),
        (answer("q", [claim()], failed_steps=(MEND,)), True),
        (answer("q", [claim(status="error")]), True),
        (answer("q", [], baselines=(FinalText(line=RAG),)), False),
        (answer("q", [], baselines=(FinalText(line=RAG, failure="cut"),)), True),
    ],
)
def test_holds_failure(record: Answer, again: bool) -> None:
    assert holds_failure(record) == again
