"""What attribution will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from tests.integration.projects import change_params
from tests.rooms.planning import PAID, planned, to_plan_in

QUESTIONS = 15
STATED = {"domains": ["urban"], "chances": "stated"}


def test_answers_that_nobody_gave_yet_are_held_by_stand_ins(tmp_path: Path) -> None:
    benchmark = "data/recorded/benchmark-urban.parquet"
    to_plan_in(tmp_path, benchmark, **{"llm.answer": PAID})
    assert planned(tmp_path, "attribution") == {}
    change_params(tmp_path, attribution=STATED)
    found = planned(tmp_path, "attribution")
    # Nothing and all shown, stated twice, all claims at once.
    calls = {("attribution@urban", "chance_shown"): QUESTIONS * 2 * 2}
    assert {task: row.calls for task, row in found.items()} == calls
    change_params(tmp_path, attribution=STATED | {"estimator": "rerun"})
    (rerun,) = planned(tmp_path, "attribution").values()
    assert rerun.calls
    assert rerun.input_tokens
    assert rerun.output_tokens


def test_of_recorded_answers_verdicts_need_no_call_and_stated_chances_do(tmp_path: Path) -> None:
    to_plan_in(tmp_path, "data/recorded", attribution={"domains": ["urban"]})
    assert planned(tmp_path, "attribution") == {}
    change_params(tmp_path, attribution=STATED | {"repeats": 1})
    (known,) = planned(tmp_path, "attribution").values()
    assert known.calls == known.known
    assert known.known + known.cached >= 2 * QUESTIONS
