"""The plan before anything is spent, and the stop where there is no budget."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from flows.imported import imported
from flows.params import load_params
from flows.plan import announce, make_plan
from flows.planned import Plan, TaskPlan, plan_text
from flows.project import Project, Results
from flows.running.rehearse import FIRST_TOKEN_S, TOKENS_PER_S
from simulrag.errors import BudgetMissing
from tests.integration.projects import PARAMS, change_params
from tests.recorded import ROOT

QUESTIONS, SAMPLES = 15, 5
FOLDER = "data/published/questions"
PAID = {"provider": "openai", "model": "gpt-5-mini", "paid": True}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Urban's recorded questions, to be answered by a model that costs money."""
    folder = tmp_path_factory.mktemp("plan")
    (folder / "prompts").symlink_to(ROOT / "prompts")
    (folder / "data/recorded").mkdir(parents=True)
    (folder / "data/routing").mkdir()
    for name in ("recorded/benchmark-urban.parquet", "routing/none.jsonl"):
        (folder / "data" / name).symlink_to(ROOT / "data" / name)
    (folder / "prices.yaml").write_bytes((ROOT / "prices.yaml").read_bytes())
    (folder / "params.yaml").write_bytes(PARAMS.read_bytes())
    change_params(folder, **{"llm.answer": PAID})
    return Project(folder)


@pytest.fixture(scope="module")
def plan(project: Project) -> Plan:
    return make_plan(project)


def by_task(plan: Plan, stage: str) -> dict[str, TaskPlan]:
    return {task.task: task for task in plan.tasks if task.stage == f"{stage}@urban"}


def test_what_is_stored_is_not_planned(plan: Plan) -> None:
    stored = by_task(plan, "benchmark")
    assert {task: row.cached for task, row in stored.items()} == {
        "benchmark_templates": 1,
        "benchmark_question": QUESTIONS,
        "reference_claims": QUESTIONS,
        "verify_batch": QUESTIONS,
    }
    assert all(row.calls == 0 for row in stored.values())


def test_the_first_level_is_known_and_later_ones_are_estimated(plan: Plan) -> None:
    answer = by_task(plan, "answer")
    known = {task: row.known for task, row in answer.items() if row.known}
    assert known == {"plan": QUESTIONS, "closed_book": QUESTIONS * SAMPLES}
    assert all(answer[task].calls == count for task, count in known.items())
    # Stand-ins look once: RAG's answer from the first look is the text that is audited.
    assert answer["audit"].calls == answer["input_rag"].calls == QUESTIONS
    assert answer["decompose"].calls == QUESTIONS * SAMPLES
    # Of the published method, at both budgets and at m = 1 at both.
    assert QUESTIONS * 3 <= answer["final"].calls <= QUESTIONS * 4  # equal claims, equal prompts
    # A prompt that is known is counted, not assumed: the handbook makes a plan the longest.
    per_call = {task: answer[task].input_tokens / count for task, count in known.items()}
    assert per_call["plan"] > 5 * per_call["closed_book"]


def test_money_by_the_price_of_the_model(plan: Plan) -> None:
    answer = by_task(plan, "answer")
    for row in answer.values():
        # gpt-5-mini: 0.25 and 2 US dollars a million tokens.
        money = (row.input_tokens * 0.25 + row.output_tokens * 2.0) / 1e6
        assert row.usd == pytest.approx(money)
    assert plan.usd == pytest.approx(sum(row.usd or 0.0 for row in answer.values()))
    assert plan.paid_calls == sum(row.calls for row in answer.values())
    assert list(plan.prices_as_of) == ["openai:gpt-5-mini"]
    assert all(row.usd == 0 for row in by_task(plan, "label").values())


def test_time_by_turns_and_by_the_longest_chain(project: Project, plan: Plan) -> None:
    rows = plan.tasks
    one_by_one = sum(row.calls * FIRST_TOKEN_S + row.output_tokens / TOKENS_PER_S for row in rows)

    def seconds(at_a_time: int) -> float:
        params = load_params(project.params).with_operations(concurrency=at_a_time)
        return make_plan(project, params).seconds

    assert seconds(1) == pytest.approx(one_by_one, rel=0.01)
    chain = seconds(4096)
    assert 7 * FIRST_TOKEN_S < chain < one_by_one / 40
    assert one_by_one / 16 < plan.seconds <= one_by_one / 16 + chain
    assert plan.measured == {"openai:gpt-5-mini": 0}
    assert "openai:gpt-5-mini as assumed, 1 s a call and 50 tokens a second" in plan_text(plan)


def test_calls_that_are_only_replayed_and_not_recorded_are_named(plan: Plan) -> None:
    """The recorded judge has never seen this model's answers."""
    assert all(row.replayed and row.known == 0 for row in by_task(plan, "label").values())
    text = plan_text(plan)
    assert "anthropic:claude is only replayed and these calls are not recorded" in text
    assert "`simulrag use openai:gpt-5-mini`" in text


def test_the_plan_says_what_would_be_left_with_nothing_to_compare_with(
    project: Project, plan: Plan
) -> None:
    params = load_params(project.params)
    answer = params.answer.model_copy(update={"beside": ()})
    alone = make_plan(project, params.model_copy(update={"answer": answer}))
    assert plan.alone == sum(task.calls for task in alone.tasks)
    line = f"answer.beside: [] leaves {plan.alone:,} of these calls: three for an answer"
    assert line in plan_text(plan)
    assert 3 * QUESTIONS < plan.alone < sum(task.calls for task in plan.tasks) / 3
    assert set(by_task(alone, "answer")) >= {"plan", "input_rag", "audit"}
    assert "closed_book" not in by_task(alone, "answer")
    assert alone.alone is None
    assert "answer.beside" not in plan_text(alone)


def test_nothing_is_printed_and_nothing_run_meanwhile(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    make_plan(project)
    assert capfd.readouterr() == ("", "")
    assert not (project.root / "data/answers").exists()


def test_without_a_budget_the_plan_is_printed_and_the_run_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BudgetMissing, match=r"no call was made\. Set operations\.budget"):
        announce(project, load_params(project.params))
    printed = capsys.readouterr().out
    assert "answer@urban (openai:gpt-5-mini): about" in printed
    assert "budget: not set" in printed
    # What waits for a batch is sent by another command, or answered by hand.
    text = project.params.read_text()
    project.params.write_text(text.replace("mode: normal", "mode: deferred"))
    announce(project, load_params(project.params))
    project.params.write_text(text)
    assert capsys.readouterr().out == ""


def test_a_model_that_writes_a_domain_s_questions_alone_is_planned_and_dated(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(project.root, folder, symlinks=True)
    (folder / "params.yaml").write_bytes(PARAMS.read_bytes())
    assert announce(Project(folder), load_params(folder / "params.yaml")) is None
    change_params(folder, **{"simulators.urban.benchmark_model": PAID})
    with pytest.raises(BudgetMissing):
        announce(Project(folder), load_params(folder / "params.yaml"))
    assert "prices: openai:gpt-5-mini as of" in capsys.readouterr().out


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"method": "paper"},
        {"verify": "selected", "beside": []},
        {"claims_per_call": {"boundary": 1, "verify": 1, "verbalized": 1}, "samples": 2},
    ],
)
def test_every_stand_in_fits_the_step_that_asked_for_it(
    answer: dict[str, Any], tmp_path: Path
) -> None:
    """Of an own benchmark to be made, with every stage on, so that nothing is left uncounted."""
    (tmp_path / "prompts").symlink_to(ROOT / "prompts")
    (tmp_path / "data/routing").mkdir(parents=True)
    (tmp_path / "data/routing/none.jsonl").symlink_to(ROOT / "data/routing/none.jsonl")
    (tmp_path / "prices.yaml").symlink_to(ROOT / "prices.yaml")
    (tmp_path / "params.yaml").write_bytes(PARAMS.read_bytes())
    own = {f"llm.{role}": PAID for role in ("benchmark", "answer", "judge")}
    changes: dict[str, Any] = {
        "benchmark.questions": 2,
    }
    change_params(tmp_path, **own, **changes, **{f"answer.{k}": v for k, v in answer.items()})
    plan = make_plan(Project(tmp_path))
    assert plan.uncounted == {}
    stages = {task.stage.partition("@")[0] for task in plan.tasks}
    assert stages == {"benchmark", "answer", "label"}
    assert all(task.calls and task.input_tokens and task.output_tokens for task in plan.tasks)


def test_a_plan_of_imported_questions_counts_a_sample(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four questions two, taken twice: as much as all four to within their differences."""
    params = load_params(project.params).with_operations(concurrency=1)  # no chain to wait for
    questions = imported(ROOT / FOLDER, None, 0)
    outs = Results(project.runs(Path("elsewhere")))
    exact = make_plan(project, params, questions, outs, exact=True)
    assert exact.sample is None
    monkeypatch.setattr("flows.plan.SAMPLE", 2)
    plan = make_plan(project, params, questions, outs)
    assert plan.sample == 2
    assert "counted: 2 questions of each domain, the others as these" in plan_text(plan)
    for name in ("calls", "input_tokens", "usd"):
        counted = sum(getattr(task, name) for task in exact.tasks)
        assert sum(getattr(task, name) for task in plan.tasks) == pytest.approx(counted, rel=0.15)
    assert plan.seconds == pytest.approx(exact.seconds, rel=0.15)
    [asked] = [t for t in plan.tasks if (t.stage, t.task) == ("answer@urban", "closed_book")]
    assert asked.calls == 4 * SAMPLES


def test_as_published_is_the_papers_method_alone(project: Project) -> None:
    params = load_params(project.params)
    questions = imported(ROOT / FOLDER, 1, 0, as_published=True)
    plan = make_plan(project, params, questions, Results(project.runs(Path("elsewhere"))))
    tasks = {task.task for task in plan.tasks if task.stage == "answer@urban"}
    assert {"closed_book", "entailment", "input_rag", "output_rag", "final"} <= tasks
    assert "audit" not in tasks
    assert plan.alone is None
