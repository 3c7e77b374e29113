"""kill -9 of a Dask worker in mid-stage: another takes its chunk, and repeats no stored call."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from simulrag.calls import cache_stats, verify_cache
from simulrag.testing.loopback import LoopbackServer
from simulrag.testing.traffic import traffic
from tests.integration.test_watched_faults import (
    QUESTIONS,
    start,
    wait_for_requests,
    watched_project,
)

pytest.importorskip("distributed", reason="needs the extra 'cluster'")
pytestmark = pytest.mark.slow
WORKERS = 2
CONCURRENCY = 4
ON_WORKERS = {
    "operations.prefect": "off",
    "operations.runner": "dask",
    "operations.cluster": {"workers": WORKERS},
    "operations.concurrency": CONCURRENCY,
}


@pytest.fixture
def model() -> Iterator[LoopbackServer]:
    with LoopbackServer(traffic(), latency_s=0.05) as running:
        yield running


def kill_a_worker(stage: subprocess.Popen[str]) -> None:
    """One that is connected to the model: it works."""
    family = psutil.Process(stage.pid).children(recursive=True)
    workers = [one for one in family if "spawn_main" in " ".join(one.cmdline())]
    assert len(workers) == WORKERS
    workers[0].send_signal(signal.SIGKILL)


def test_the_stage_ends_complete_and_repeats_no_stored_call(
    tmp_path: Path, model: LoopbackServer
) -> None:
    project = watched_project(tmp_path / "project", model.url, **ON_WORKERS)
    stage = start(project, "killed")
    wait_for_requests(model, 12)
    stored = cache_stats(project / ".cache/calls").by_kind["model"]
    kill_a_worker(stage)
    _, errors = stage.communicate(timeout=180)
    assert stage.returncode == 0, errors
    assert "a Dask worker has died; another takes its chunk" in errors
    assert "Traceback" not in errors
    assert 0 < stored < len(model.requests) / 2
    times = Counter(json.dumps(request.body, sort_keys=True) for request in model.requests)
    # What was in flight on the dead worker alone, which has its share of the calls in flight.
    assert times.total() - len(times) <= CONCURRENCY // WORKERS
    asked = len(model.requests)
    after = start(project, "after")  # finds every call, on workers that live
    _, errors = after.communicate(timeout=180)
    assert after.returncode == 0, errors
    assert len(model.requests) == asked
    lines = (project / "killed/answers/urban.jsonl").read_bytes()
    assert lines.count(b"\n") == QUESTIONS
    assert lines == (project / "after/answers/urban.jsonl").read_bytes()
    assert verify_cache(project / ".cache/calls").problems == ()


def test_a_chunk_whose_workers_keep_dying_is_named(
    tmp_path: Path, model: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask gives a chunk up after some deaths; here after the first."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    project = watched_project(tmp_path / "project", model.url, **ON_WORKERS)
    stage = start(project, "out")
    wait_for_requests(model, 12)
    kill_a_worker(stage)
    _, errors = stage.communicate(timeout=60)
    assert stage.returncode == 1, errors
    assert "a chunk's workers died, one after another" in errors
    assert "Every finished call is kept" in errors
    assert "Traceback" not in errors
    assert not (project / "out/answers/urban.jsonl").exists()
    assert not [one for one in psutil.process_iter(["cwd"]) if _works_in(one, project)]


def _works_in(process: psutil.Process, project: Path) -> bool:
    return process.info["cwd"] == str(project) and process.pid != os.getpid()
