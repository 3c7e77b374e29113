"""Folders to plan the stages of a room in."""

from __future__ import annotations

from pathlib import Path

from flows.plan import make_plan
from flows.planned import TaskPlan
from flows.project import Project
from tests.integration.projects import PARAMS, change_params
from tests.recorded import ROOT

PAID = {"provider": "openai", "model": "gpt-5-mini", "paid": True}


def to_plan_in(folder: Path, *given: str, **changes: object) -> Path:
    """A folder with links to what is given, prompts and prices, and changed parameters."""
    for name in ("prompts", "prices.yaml", *given):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(ROOT / name)
    (folder / "params.yaml").write_bytes(PARAMS.read_bytes())
    change_params(folder, **changes)
    return folder


def planned(folder: Path, *stages: str) -> dict[tuple[str, str], TaskPlan]:
    """By stage and task what is left to ask, all of it counted; ``stages``: without their item."""
    plan = make_plan(Project(folder))
    assert plan.uncounted == {}
    return {
        (task.stage, task.task): task
        for task in plan.tasks
        if task.stage.partition("@")[0] in stages
    }
