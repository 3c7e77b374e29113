"""What questions by form will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from flows.plan.plan import make_plan
from flows.project import Project
from tests.integration.projects import PARAMS, change_params
from tests.recorded import ROOT


def test_every_stand_in_fits_the_step_that_asked_for_it(tmp_path: Path) -> None:
    """Of questions to be made from runs, so that nothing is left uncounted."""
    for name in ("prompts", "prices.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "params.yaml").write_bytes(PARAMS.read_bytes())
    paid = {"provider": "openai", "model": "gpt-5-mini", "paid": True}
    models = {f"llm.{role}": paid for role in ("benchmark", "answer", "judge")}
    wanted = {"benchmark.questions": 2, "forms.sources": ["urban"], "forms.questions": 6}
    change_params(tmp_path, **models, **wanted)
    plan = make_plan(Project(tmp_path))
    assert plan.uncounted == {}
    ours = [task for task in plan.tasks if task.stage.startswith("forms_")]
    assert {task.stage for task in ours} == {
        f"forms_{name}@urban" for name in ("benchmark", "answer", "metrics")
    }
    assert all(task.calls and task.input_tokens and task.output_tokens for task in ours)
