"""A stage that Prefect watches: its server is killed in mid-stage, or the user ends it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.calls import cache_stats
from simulrag.testing.loopback import HANG, Act, LoopbackServer, question, stand_in
from tests.integration.prefect_api import ask, free_port
from tests.integration.projects import (
    copy_project,
    simulrag,
    start_answers,
    stub_model,
    wait_for_requests,
    write_questions,
)

pytestmark = pytest.mark.slow

QUESTIONS = 4


@pytest.fixture
def model() -> Iterator[LoopbackServer]:
    """A model's server."""
    with LoopbackServer(stand_in(), latency_s=0.05) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, model: LoopbackServer) -> Iterator[Path]:
    """A project whose answer stage asks the loopback model and is watched."""
    folder = copy_project(
        tmp_path / "project",
        **{
            "operations.prefect": "auto",
            "operations.chunk": 2,
            "operations.concurrency": 4,
            "answer.verbalized": False,
            "answer.beside": [],
            "llm.answer": stub_model(model.url),
        },
    )
    write_questions(folder, *map(question, range(QUESTIONS)))
    simulrag(folder, "ui", "--port", free_port(), check=True)
    yield folder
    simulrag(folder, "ui", "--stop")


def test_a_server_killed_in_mid_stage_loses_no_result(project: Path, model: LoopbackServer) -> None:
    stage = start_answers(project)
    wait_for_requests(model, 10)
    os.kill(json.loads((project / ".prefect/server.json").read_text())["pid"], signal.SIGKILL)
    _, errors = stage.communicate(timeout=120)
    assert stage.returncode == 0, errors
    assert "Prefect" in errors
    assert "Error logging" not in errors
    assert "Traceback" not in errors
    made = len(model.requests)
    outs = [project / "data" / out for out in ("answers/urban.jsonl", "calls/answer-urban.parquet")]
    before = [out.read_bytes() for out in outs]
    assert before[0].count(b"\n") == QUESTIONS
    simulrag(project, "ui", "--port", free_port(), check=True)
    after = start_answers(project)
    _, errors = after.communicate(timeout=120)
    assert after.returncode == 0, errors
    assert "Prefect" not in errors
    runs = ask(project, "flow_runs/filter")
    assert {run["name"] for run in runs} == {"answer-urban"}
    # The first one's end could not be told to anybody.
    assert sorted(run["state_type"] for run in runs) == ["COMPLETED", "RUNNING"]
    assert len(model.requests) == made, "a finished call was made again"
    assert [out.read_bytes() for out in outs] == before


def test_interrupted_under_a_live_flow(project: Path, model: LoopbackServer) -> None:
    paid = 6
    model.script(*[Act()] * paid, *[HANG] * 40)
    stage = start_answers(project)
    wait_for_requests(model, paid + 2)
    time.sleep(0.5)
    stage.send_signal(signal.SIGINT)
    _, errors = stage.communicate(timeout=60)
    assert stage.returncode == 130, errors
    assert "interrupted; every finished call is kept, run the same command again" in errors
    assert "Traceback" not in errors
    assert cache_stats(project / ".cache/calls").by_kind["model"] == paid
