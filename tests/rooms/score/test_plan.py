"""What scoring will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from flows.plan.plan import make_plan
from flows.project import Project
from tests.integration.projects import PARAMS, change_params
from tests.recorded import ROOT


def test_every_stand_in_fits_the_step_that_asked_for_it(tmp_path: Path) -> None:
    """Of an own benchmark to be made, with all that is asked of models, so nothing is uncounted."""
    for name in ("prompts", "prices.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "params.yaml").write_bytes(PARAMS.read_bytes())
    paid = {"provider": "openai", "model": "gpt-5-mini", "paid": True}
    models = {f"llm.{role}": paid for role in ("benchmark", "answer", "judge")}
    settings = {"domains": ["urban"], "variants": 1, "samples": 2, "dependence": True}
    change_params(tmp_path, **models, score=settings, **{"benchmark.questions": 2})
    plan = make_plan(Project(tmp_path))
    assert plan.uncounted == {}
    scoring = [task for task in plan.tasks if task.stage.partition("@")[0] == "score"]
    asked = {"details", "mask", "ask_back", "paraphrase", "perturb"}
    assert {f"score_{name}" for name in asked} < {task.task for task in scoring}
    assert all(task.calls and task.input_tokens and task.output_tokens for task in scoring)
