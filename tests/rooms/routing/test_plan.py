"""What routing will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from flows.plan.plan import make_plan
from flows.project import Project
from tests.integration.projects import PARAMS, change_params
from tests.recorded import ROOT


def test_routing_is_planned_where_it_is_asked_for(tmp_path: Path) -> None:
    """Of known questions the calls are known; those of near misses nobody has written are not."""
    (tmp_path / "data").mkdir()
    for name in ("prompts", "data/recorded", "data/routing", "prices.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "params.yaml").write_bytes(PARAMS.read_bytes())
    paid = {"provider": "openai", "model": "gpt-5-mini", "paid": True}
    change_params(
        tmp_path, **{"llm.answer": paid, "routing": {"domains": ["urban"], "near_misses": 4}}
    )
    plan = make_plan(Project(tmp_path))
    found = {task.task: task for task in plan.tasks if task.stage == "routing@urban"}
    assert {task: (one.calls, one.known) for task, one in found.items()} == {
        "near_misses": (1, 1),
        "route": (15 + 10 + 4, 15 + 10),
    }
    assert found["route"].input_tokens > 29 * 1000  # a handbook each
