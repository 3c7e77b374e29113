"""What scoring will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from tests.rooms.planning import PAID, planned, to_plan_in


def test_every_stand_in_fits_the_step_that_asked_for_it(tmp_path: Path) -> None:
    """Of an own benchmark to be made, with all that is asked of models, so nothing is uncounted."""
    models = {f"llm.{role}": PAID for role in ("benchmark", "answer", "judge")}
    settings = {"domains": ["urban"], "variants": 1, "samples": 2, "dependence": True}
    wanted = {"score": settings, "benchmark.questions": 2}
    found = planned(to_plan_in(tmp_path, **models, **wanted), "score")
    asked = {"details", "mask", "ask_back", "paraphrase", "perturb"}
    assert {f"score_{name}" for name in asked} < {task for _, task in found}
    assert all(task.calls and task.input_tokens and task.output_tokens for task in found.values())
