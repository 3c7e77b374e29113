"""kill -9 of ``dvc repro`` in mid-stage, with and without the stage: the next one ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from simulrag.calls import verify_cache
from simulrag.testing.loopback import LoopbackServer, stand_in
from tests.integration.projects import (
    copy_project,
    dvc,
    environment_of,
    outs,
    stub_model,
    wait_for_requests,
)

pytestmark = pytest.mark.slow
QUESTIONS = 4
CONCURRENCY = 4
NOWHERE = "http://127.0.0.1:9/v1"
REPRO = (sys.executable, "-m", "dvc", "repro", "answer@urban")


@pytest.fixture
def model() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in(), latency_s=0.05) as running:
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has its benchmark; the model that answers is still nowhere."""
    with LoopbackServer(stand_in()) as writer:
        project = copy_project(
            tmp_path_factory.mktemp("killed") / "project",
            **{
                "operations.concurrency": CONCURRENCY,
                "benchmark.questions": QUESTIONS,
                "benchmark.templates": 2,
                "answer.verbalized": False,
                "answer.beside": [],
                "llm.benchmark": stub_model(writer.url),
                "llm.answer": stub_model(NOWHERE),
            },
        )
        dvc(project, "init", "--no-scm", "--quiet")
        dvc(project, "repro", "-q", "benchmark@urban")
    return project


@pytest.mark.parametrize("victims", ["dvc alone", "dvc and its stage"])
def test_the_next_run_ends_it_and_repeats_no_stored_call(
    tmp_path: Path, prepared: Path, model: LoopbackServer, victims: str
) -> None:
    """A stage that outlives its dvc works on beside the next one, to the same outs."""
    project = tmp_path / "project"
    shutil.copytree(prepared, project, symlinks=True)
    params = project / "params.yaml"
    params.write_text(params.read_text().replace(NOWHERE, model.url))
    killed = subprocess.Popen(
        REPRO,
        cwd=project,
        env=environment_of(project),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for_requests(model, 12)
    if victims == "dvc alone":
        killed.kill()
    else:
        os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    dvc(project, "repro", "answer@urban")
    times = Counter(json.dumps(request.body, sort_keys=True) for request in model.requests)
    if victims == "dvc and its stage":  # else two processes may ask the same at the same time
        assert times.total() - len(times) <= CONCURRENCY
    deadline = time.monotonic() + 60
    while _work_in(project):
        assert time.monotonic() < deadline, "the stage without its dvc did not end"
        time.sleep(0.2)
    made = outs(project)
    assert (project / "data/answers/urban.jsonl").read_bytes().count(b"\n") == QUESTIONS
    said = dvc(project, "repro", "answer@urban")  # the lock is right: nothing is made again
    assert "Stage 'answer@urban' didn't change, skipping" in said
    asked = len(model.requests)
    dvc(project, "repro", "answer@urban", "--single-item", "--force")
    assert outs(project) == made
    assert len(model.requests) == asked
    assert verify_cache(project / ".cache/calls").problems == ()


def _work_in(project: Path) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(project)]
