"""A stage that Prefect watches: its server is killed in mid-stage, or the user ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.watch import server
from simulrag.calls import cache_stats
from simulrag.records import Question
from simulrag.testing.loopback import HANG, Act, LoopbackServer
from simulrag.testing.traffic import question, traffic
from tests.integration.projects import ROOT, copy_project

pytestmark = pytest.mark.slow

QUESTIONS = 4
INTERRUPT_LIMIT_S = 10.0


@pytest.fixture
def no_prefect_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's own Prefect gets in."""
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def model() -> Iterator[LoopbackServer]:
    """A model's server."""
    with LoopbackServer(traffic(), latency_s=0.05) as running:
        yield running


def watched_project(folder: Path, url: str, **changes: Any) -> Path:
    """A project whose answer stage asks the loopback model and is watched."""
    project = copy_project(
        folder,
        **{
            "operations.prefect": "auto",
            "operations.chunk": 2,
            "operations.concurrency": 4,
            "answer.verbalized": False,
            "answer.baselines": False,
            "llm.answer": {
                "provider": "openai",
                "model": "stub",
                "base_url": url,
                "sampling": {"seed": 0},
            },
            **changes,
        },
    )
    asked = (
        Question(
            question_id=f"q{i}",
            domain="urban",
            text=question(i),
            reference_answer="",
            scenario_id=f"s{i}",
        )
        for i in range(QUESTIONS)
    )
    lines = "".join(item.model_dump_json() + "\n" for item in asked)
    (project / "questions.jsonl").write_text(lines)
    return project


def start(project: Path, out: str) -> subprocess.Popen[str]:
    """The answer stage as a process of its own."""
    command = [sys.executable, "-m", "flows.stages.answer", "--domain", "urban"]
    return subprocess.Popen(
        [*command, "--benchmark", "questions.jsonl", "--out", out],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_requests(model: LoopbackServer, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(model.requests) < count:
        assert time.monotonic() < deadline, "the stage did not come so far"
        time.sleep(0.02)


def server_pids(root: Path) -> list[int]:
    """The supervisor of the shared server and what it started."""
    pid = json.loads((root / ".prefect/server.json").read_text())["pid"]
    found = [pid]
    for parent in found:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        found += map(int, children)
    return found


def api(project: Path, path: str) -> Any:
    url = json.loads((project / ".prefect/server.json").read_text())["url"]
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/{path}", data=b"{}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.loads(reply.read())


def test_a_server_killed_in_mid_stage_loses_no_result(
    tmp_path: Path, model: LoopbackServer, no_prefect_settings: None
) -> None:
    project = watched_project(tmp_path / "project", model.url)
    stage = start(project, "killed")
    try:
        wait_for_requests(model, 10)
        for pid in server_pids(project):
            os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        _, errors = stage.communicate(timeout=120)
        assert stage.returncode == 0, errors
        assert "Prefect" in errors
        assert "Traceback" not in errors
        made = len(model.requests)
        after = start(project, "after")  # finds the server dead and starts another
        _, errors = after.communicate(timeout=120)
        assert after.returncode == 0, errors
        assert "Prefect" not in errors
        runs = api(project, "flow_runs/filter")
        assert {run["name"] for run in runs} == {f"answer-urban-{QUESTIONS}q"}
        # The first one's end could not be told to anybody.
        assert sorted(run["state_type"] for run in runs) == ["COMPLETED", "RUNNING"]
    finally:
        server.stop(project)
    assert len(model.requests) == made, "a finished call was made again"
    lines = (project / "killed/answers/urban.jsonl").read_bytes()
    assert lines.count(b"\n") == QUESTIONS
    assert lines == (project / "after/answers/urban.jsonl").read_bytes()
    export = "calls/answer-urban.parquet"
    assert (project / "killed" / export).read_bytes() == (project / "after" / export).read_bytes()
    assert time.monotonic() - began < 120


def test_the_time_of_day_may_jump_and_nobody_is_left_behind(
    tmp_path: Path, no_prefect_settings: None
) -> None:
    """A clock set forward makes the last use look long ago; a server in use stays all the same.

    It ends with its killed supervisor: nobody would be left to see that it idles.
    """
    server.configure(tmp_path)
    server.begin(tmp_path)
    server.wait(tmp_path)
    before = server_pids(tmp_path)
    os.utime(tmp_path / ".prefect/last-used", (0, 0))
    time.sleep(3)
    assert server_pids(tmp_path) == before
    supervisor, *others = before
    assert others
    os.kill(supervisor, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in others):
        assert time.monotonic() < deadline, "the server outlived its supervisor"
        time.sleep(0.1)
    command = [sys.executable, "-m", "flows.watch.server", "--root", str(tmp_path), "--port", "0"]
    idle = subprocess.Popen([*command, "--idle", "1"], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert idle.wait(60) == 0


def test_interrupted_under_a_live_flow(
    tmp_path: Path, model: LoopbackServer, no_prefect_settings: None
) -> None:
    project = watched_project(tmp_path / "project", model.url)
    paid = 6
    model.script(*[Act()] * paid, *[HANG] * 40)
    stage = start(project, "out")
    try:
        wait_for_requests(model, paid + 2)
        time.sleep(0.5)
        began = time.monotonic()
        stage.send_signal(signal.SIGINT)
        _, errors = stage.communicate(timeout=60)
        took_s = time.monotonic() - began
        assert took_s < INTERRUPT_LIMIT_S
        assert stage.returncode == 130, errors
        assert "interrupted; every finished call is kept, run the same command again" in errors
        assert "Traceback" not in errors
        assert cache_stats(project / ".cache/calls").by_kind["model"] == paid
    finally:
        server.stop(project)
