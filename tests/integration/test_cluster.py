"""Chunks on Dask workers: the outs are those of one process, byte for byte."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from simulrag.calls import CachePlace, cache_stats
from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.loopback import question
from tests.integration.projects import (
    copy_finished,
    copy_project,
    simulrag,
    start_answers,
    stub_model,
    write_questions,
)
from tests.servers.redis_server import redis_place, redis_program

__all__ = ["redis_place", "redis_program"]

pytest.importorskip("distributed", reason="needs the extra 'cluster'")
pytestmark = pytest.mark.slow

OUTS = (
    "data/answers/urban.jsonl",
    "data/calls/answer-urban.parquet",
    "data/labels/urban.parquet",
    "data/labels/urban-final-claims.jsonl",
    "data/calls/label-urban.parquet",
)


def test_two_workers_and_redis_replay_the_recorded_run(
    finished: Path, tmp_path: Path, redis_place: CachePlace
) -> None:
    project = copy_finished(
        finished,
        tmp_path / "project",
        **{
            "operations.runner": "dask",
            "operations.cluster": {"workers": 2},
            "operations.chunk": 4,
            "operations.cache": str(redis_place),
        },
    )
    for name in OUTS:
        (project / name).unlink()
    for stage in ("answer", "label"):
        done = simulrag(project, "stage", stage, "--domain", "urban", check=True)
        assert "2 Dask workers with 2 threads" in done.stderr
    assert {name: (project / name).read_bytes() for name in OUTS} == {
        name: (finished / name).read_bytes() for name in OUTS
    }
    for run in cache_stats(redis_place).stages.values():
        assert (run.misses, run.missing) == (0, 0)
        assert run.hits > 200


def test_no_scheduler_at_the_address(
    finished: Path, tmp_path: Path, redis_place: CachePlace
) -> None:
    project = copy_finished(
        finished,
        tmp_path / "project",
        **{
            "operations.runner": "dask",
            "operations.cluster": {"address": "tcp://127.0.0.1:9"},
            "operations.cache": str(redis_place),
        },
    )
    done = simulrag(project, "stage", "answer", "--domain", "urban")
    assert done.returncode == 1
    assert (
        "no Dask scheduler answers at operations.cluster.address tcp://127.0.0.1:9" in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_a_worker_that_is_killed_is_replaced_and_repeats_no_stored_call(tmp_path: Path) -> None:
    with LoopbackServer(stand_in(), latency_s=0.05) as server:
        project = copy_project(
            tmp_path / "project",
            **{
                "operations.runner": "dask",
                "operations.chunk": 2,
                "operations.concurrency": 16,
                "answer.verbalized": False,
                "answer.beside": [],
                "llm.answer": stub_model(server.url),
            },
        )
        write_questions(project, *map(question, range(6)))
        stage = start_answers(project)
        while len(server.requests) < 12:
            assert stage.poll() is None
        while not cache_stats(project / ".cache/calls").by_kind.get("model", 0):
            assert stage.poll() is None
        _kill_a_worker(stage)
        _, errors = stage.communicate(timeout=180)
        assert stage.returncode == 0, errors
        assert "Traceback" not in errors
        asked = len(server.requests)
        again = start_answers(project)
        again.communicate(timeout=180)
        assert again.returncode == 0
        assert len(server.requests) == asked
    # What was in flight on the dead worker is asked for twice, nothing else is.
    bodies = {str(sorted(request.body.items())) for request in server.requests}
    assert len(server.requests) - len(bodies) <= 8


def _kill_a_worker(stage: subprocess.Popen[str]) -> None:
    family = psutil.Process(stage.pid).children(recursive=True)
    workers = [one for one in family if "spawn_main" in " ".join(one.cmdline())]
    assert len(workers) == 2
    workers[0].send_signal(signal.SIGKILL)
