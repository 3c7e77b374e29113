"""Which evidence recorded answers' statements stand on: plan, stage, report and ``ask --why``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.files import read_records
from rooms.attribution.records import AGREES, Attribution
from simulrag.records import Answer
from tests.integration.projects import change_params, copy_finished, simulrag, stats
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


def test_of_recorded_answers_verdicts_need_no_call_and_stated_chances_do(tmp_path: Path) -> None:
    to_plan_in(tmp_path, "data/recorded", attribution={"domains": ["urban"]})
    assert planned(tmp_path, "attribution") == {}
    change_params(tmp_path, attribution=STATED | {"repeats": 1})
    (known,) = planned(tmp_path, "attribution").values()
    assert known.calls == known.known
    assert known.known + known.cached >= 2 * QUESTIONS


@pytest.fixture(scope="module")
def project(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_finished(
        finished, tmp_path_factory.mktemp("why") / "project", **{"attribution.domains": ["urban"]}
    )
    simulrag(folder, "stage", "attribution", "--domain", "urban", check=True)
    return folder


def test_of_one_source_the_audit_says_it_all(project: Path) -> None:
    found = read_records(project / "data/attribution/urban.jsonl", Attribution)
    answers = read_records(project / "data/answers/urban.jsonl", Answer)
    for one, answer in zip(found, answers, strict=True):
        assert one.question_id == answer.question_id
        assert [claim.standing for claim in one.claims] == [
            statement.standing for statement in answer.final.statements
        ]
        assert all(
            claim.support in AGREES[claim.standing] for claim in one.claims if claim.standing
        )
    seen = stats(project)["stages"]["attribution-urban"]
    assert (seen["misses"], seen["missing"]) == (0, 0)
    assert (project / "data/calls/attribution-urban.parquet").is_file()


def test_the_report_shows_it_only_where_it_is_asked_for(project: Path, finished: Path) -> None:
    simulrag(project, "stage", "report", check=True)
    heading = "Which evidence supports the claims"
    assert heading in (project / "data/report/methods.html").read_text()
    table = (project / "data/report/tables/urban-attribution.csv").read_text()
    assert "against" in table
    assert heading not in (finished / "data/report/methods.html").read_text()


def test_ask_why(project: Path) -> None:
    found = read_records(project / "data/attribution/urban.jsonl", Attribution)[0]
    said = json.loads(
        simulrag(project, "ask", found.question_id, "--why", "--json", check=True).stdout
    )
    assert [one["support"] for one in said["why"]] == [claim.support for claim in found.claims]
    assert len(said["why"]) == len(said["statements"])
    shown = simulrag(project, "ask", found.question_id, "--why", check=True, COLUMNS="160").stdout
    assert "claim, as drafted" in shown
    plain = simulrag(project, "ask", found.question_id, check=True).stdout
    assert "as drafted" not in plain
