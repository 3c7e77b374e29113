"""What attribution will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from flows.plan.plan import TaskPlan, make_plan
from flows.project import Project
from tests.integration.projects import PARAMS, change_params
from tests.recorded import ROOT

QUESTIONS = 15


def planned(folder: Path) -> dict[str, TaskPlan]:
    """By task, what is left to ask for the attribution of urban's answers."""
    plan = make_plan(Project(folder))
    assert plan.uncounted == {}
    return {task.task: task for task in plan.tasks if task.stage == "attribution@urban"}


def given(folder: Path, recorded: str) -> None:
    """A folder to plan in, with these exports of the recorded run."""
    (folder / "data/recorded").mkdir(parents=True)
    for file in (ROOT / "data/recorded").glob(recorded):
        (folder / "data/recorded" / file.name).symlink_to(file)
    for name in ("prompts", "prices.yaml"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "params.yaml").write_bytes(PARAMS.read_bytes())


def test_answers_that_nobody_gave_yet_are_held_by_stand_ins(tmp_path: Path) -> None:
    given(tmp_path, "benchmark-urban.parquet")
    paid = {"provider": "openai", "model": "gpt-5-mini", "paid": True}
    change_params(tmp_path, **{"llm.answer": paid})
    assert planned(tmp_path) == {}
    wanted = {"domains": ["urban"], "chances": "stated"}
    change_params(tmp_path, attribution=wanted)
    assert {task: row.calls for task, row in planned(tmp_path).items()} == {
        "chance_shown": QUESTIONS * 2 * 2 * 2  # nothing and all shown, stated twice, 29 claims
    }
    change_params(tmp_path, attribution=wanted | {"estimator": "rerun"})
    (rerun,) = planned(tmp_path).values()
    assert rerun.calls
    assert rerun.input_tokens
    assert rerun.output_tokens


def test_of_recorded_answers_verdicts_need_no_call_and_stated_chances_do(tmp_path: Path) -> None:
    given(tmp_path, "*")
    change_params(tmp_path, attribution={"domains": ["urban"]})
    assert planned(tmp_path) == {}
    change_params(tmp_path, attribution={"domains": ["urban"], "chances": "stated", "repeats": 1})
    known = planned(tmp_path)["chance_shown"]
    assert known.calls == known.known
    assert known.known >= 2 * QUESTIONS
