"""What questions by form will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from tests.rooms.planning import PAID, planned, to_plan_in


def test_every_stand_in_fits_the_step_that_asked_for_it(tmp_path: Path) -> None:
    """Of questions to be made from runs, so that nothing is left uncounted."""
    models = {f"llm.{role}": PAID for role in ("benchmark", "answer", "judge")}
    wanted = {"benchmark.questions": 2, "forms.sources": ["urban"], "forms.questions": 6}
    stages = [f"forms_{name}" for name in ("benchmark", "answer", "metrics")]
    found = planned(to_plan_in(tmp_path, **models, **wanted), *stages)
    assert {stage for stage, _ in found} == {f"{name}@urban" for name in stages}
    assert all(task.calls and task.input_tokens and task.output_tokens for task in found.values())
