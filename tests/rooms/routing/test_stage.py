"""``simulrag route``, ``ask --domain auto`` and the stage, and what they will cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli.app import app
from flows.cli.main import ended
from flows.files import read_records
from rooms.routing.page import routing_scores
from rooms.routing.route import Routed
from simulrag.testing.loopback import LoopbackServer, question, stand_in
from tests.integration.projects import change_params, copy_project, write_questions
from tests.rooms.planning import PAID, planned, to_plan_in


def test_routing_is_planned_where_it_is_asked_for(tmp_path: Path) -> None:
    """Of known questions the calls are known; those of near misses nobody has written are not."""
    wanted = {"llm.answer": PAID, "routing": {"domains": ["urban"], "near_misses": 4}}
    found = planned(to_plan_in(tmp_path, "data/recorded", "data/routing", **wanted), "routing")
    assert {task: (one.calls, one.known) for (_, task), one in found.items()} == {
        "near_misses": (1, 1),
        "route": (15 + 10 + 4, 15 + 10),
    }
    assert found["routing@urban", "route"].input_tokens > 29 * 1000  # a handbook each


ELSEWHERE = "Who will win the election in the town next year?"


def of_urban(number: int) -> str:
    """A question that says which source is right for it."""
    return f"{question(number)} This is rightly asked of urban ."


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = copy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    return made


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = ended(lambda: app(arguments))
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def test_one_call_says_which_source_fits(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = {"name": "mcp", "settings": {"command": ["no-such-program"]}}
    change_params(project, **{"simulators.gone": gone})
    model = ("--model", f"{server.url}#m", "--json")
    found = said(capsys, "route", of_urban(3), *model)
    assert found["chosen"] == "urban"
    fits = {one["source"]: (one["fit"], one["tool"]) for one in found["sources"]}
    assert fits == {
        "urban": ("partly", "run_scenario"),
        "climate": ("not", ""),
        "epidemiology": ("not", ""),
    }
    assert "no-such-program" in found["unavailable"]["gone"]
    assert said(capsys, "route", ELSEWHERE, *model)["chosen"] is None
    said(capsys, "route", of_urban(3), *model)
    assert len(server.requests) == 2  # a third time was a hit


def test_where_nothing_fits_the_answer_is_closed_book(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("--model", f"{server.url}#m", "--json")
    found = said(capsys, "ask", ELSEWHERE, "--domain", "auto", *model)
    assert found["verified"] is False
    assert found["evidence"] == []
    assert found["answer"]
    assert found["source"].endswith("no source fits, so nothing was run")
    assert (found["statements"], found["audit"]) == ([], None)


def test_the_stage_measures_it(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Deferred first: the near misses and the routes of known questions wait in one round."""
    model = {"provider": "openai", "model": "m", "base_url": server.url}
    wanted = {"domains": ["urban"], "near_misses": 4}
    change_params(
        project, **{"routing": wanted, "llm.answer": model, "operations.mode": "deferred"}
    )
    write_questions(project, of_urban(1), of_urban(2))
    stage = ("stage", "routing", "-d", "urban")
    assert ended(lambda: app(stage)) == 75
    assert "13 calls pending for 13 items" in capsys.readouterr().err  # 1 + 2 + 10
    assert not (project / "data/routing/urban.jsonl").exists()
    change_params(project, **{"operations.mode": "normal"})
    assert ended(lambda: app(stage)) == 0
    assert "Every question is sent right." in capsys.readouterr().err
    found = read_records(project / "data/routing/urban.jsonl", Routed)
    scores = routing_scores(found)
    assert scores.counts == {"all": 16, "own": 2, "none": 10, "out_of_range": 0, "not_returned": 4}
    assert json.loads((project / "data/metrics/routing-urban.json").read_text()) == {
        "own": {"right": 2, "wrong": 0},
        "right is urban": {"sent to urban": 2},
        "none": {"right": 10, "wrong": 0},
        "right is none": {"sent to none": 14},
        "not_returned": {"right": 4, "wrong": 0},
    }
    assert scores.confusion == {("none", "none"): 14, ("urban", "urban"): 2}
    assert len(server.requests) == 1 + 16
    assert ended(lambda: app(stage)) == 0
    assert len(server.requests) == 1 + 16  # and all of it is stored


@pytest.mark.slow
def test_where_a_source_fits_it_is_run(
    project: Path, server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("--model", f"{server.url}#m", "--json")
    found = said(capsys, "ask", of_urban(3), "--domain", "auto", *model)
    assert found["source"].endswith("domain urban")
    assert {item["simulator"] for item in found["evidence"]} == {"urban"}
