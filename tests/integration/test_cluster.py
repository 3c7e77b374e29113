"""Chunks on Dask workers: the outs are those of one process, byte for byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.calls import cache_stats
from tests.integration.projects import copy_project, outs, run

pytest.importorskip("distributed", reason="needs the extra 'cluster'")
pytestmark = pytest.mark.slow

STAGES = ("benchmark", "answer", "label")
SMALL = {
    "operations.prefect": "off",
    "operations.chunk": 2,
    "benchmark.questions": 6,
    "benchmark.templates": 4,
    "answer.samples": 2,
    "answer.max_claims": 4,
}


def stage(project: Path, name: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return run(project, sys.executable, "-m", f"flows.{name}", "--domain", "urban", check=check)


def copy_with(folder: Path, **changes: object) -> Path:
    return copy_project(folder, **{**SMALL, **changes})


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after its stages ran in one process each."""
    project = copy_with(tmp_path_factory.mktemp("threads") / "project")
    run(project, sys.executable, "-m", "flows.stages.simulators", "--domain", "urban")
    for name in STAGES:
        stage(project, name)
    return project


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with one worker of two threads, as a user starts them; its address."""
    folder = tmp_path_factory.mktemp("scheduler")
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    running = [
        subprocess.Popen(
            [*command, *options, "--scheduler-file", str(file)], stderr=subprocess.DEVNULL
        )
    ]
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, "the scheduler did not come up"
        time.sleep(0.1)
    yield json.loads(file.read_text())["address"]
    for process in running:
        process.terminate()
        process.wait()


def test_the_outs_are_the_same_byte_for_byte(alone: Path, tmp_path: Path) -> None:
    project = copy_with(tmp_path / "project", **{"operations.runner": "dask"})
    run(project, sys.executable, "-m", "flows.stages.simulators", "--domain", "urban")
    for name in STAGES:
        done = stage(project, name)
    assert "2 Dask workers with 2 threads" in done.stderr
    assert outs(project) == outs(alone)
    one, many = cache_stats(alone / ".cache/calls"), cache_stats(project / ".cache/calls")
    assert many.entries == one.entries
    for name in ("answer-urban", "label-urban"):
        # Single flight holds across the workers: what one of them made, no other makes again.
        assert many.stages[name].misses == one.stages[name].misses
    assert not list((project / ".cache/calls").glob(".workers-*"))


def test_workers_at_an_address(alone: Path, tmp_path: Path, scheduler: str) -> None:
    """Nothing is left to call: the workers find the stage's calls in replay mode."""
    changes = {"operations.runner": "dask", "operations.cluster": {"address": scheduler}}
    project = copy_with(tmp_path / "project", **changes, **{"operations.mode": "replay"})
    run(project, "cp", "-r", f"{alone}/data/benchmark", f"{alone}/data/calls", "data/")
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-dashboard"]
    worker = subprocess.Popen(
        [*command, "--nthreads", "2", "--no-nanny", "--local-directory", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(project)},
        stderr=subprocess.DEVNULL,
    )
    try:
        done = stage(project, "answer")
    finally:
        worker.terminate()
        worker.wait()
    assert "1 Dask workers with 2 threads" in done.stderr
    assert cache_stats(project / ".cache/calls").stages["answer-urban"].misses == 0
    answers = "data/answers/urban.jsonl"
    assert (project / answers).read_bytes() == (alone / answers).read_bytes()


def test_no_scheduler_at_the_address(alone: Path, tmp_path: Path) -> None:
    changes = {"operations.cluster": {"address": "tcp://127.0.0.1:9"}}
    project = copy_with(tmp_path / "project", **{"operations.runner": "dask"}, **changes)
    run(project, "cp", "-r", f"{alone}/data/benchmark", "data/")
    done = stage(project, "answer", check=False)
    assert done.returncode == 1
    assert (
        "no Dask scheduler answers at operations.cluster.address tcp://127.0.0.1:9" in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_interrupted_with_workers(alone: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches the whole process group, the workers too."""
    project = copy_with(tmp_path / "project", **{"operations.runner": "dask"})
    run(project, "cp", "-r", f"{alone}/data/benchmark", "data/")
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.stages.answer", "--domain", "urban"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = ""
    while "Dask workers" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 10
    assert process.returncode == 130, errors
    assert "interrupted; every finished call is kept" in errors
