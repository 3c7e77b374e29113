"""kill -9 right after the k-th stored call of the answer stage: the rerun repeats none of them."""

from __future__ import annotations

import random
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.integration.projects import copy_project, run, stats

pytestmark = pytest.mark.slow

KILL_AFTER = """
import os, signal, sys
from flows.stages import answer
from simulrag.calls.cache import CallCache

left = int(sys.argv.pop())
store = CallCache._store

async def store_and_die(self, *arguments, **keywords):
    global left
    result = await store(self, *arguments, **keywords)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

CallCache._store = store_and_die
answer.main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(
        tmp_path_factory.mktemp("kill") / "project",
        **{
            "benchmark.questions": 3,
            "benchmark.templates": 3,
            "answer.samples": 3,
            "operations.prefect": "off",
        },
    )
    run(folder, sys.executable, "-m", "flows.stages.simulators", "--domain", "urban")
    run(folder, sys.executable, "-m", "flows.stages.benchmark", "--domain", "urban")
    return folder


def test_no_stored_call_is_repeated(project: Path) -> None:
    answer = (sys.executable, "-m", "flows.stages.answer", "--domain", "urban")
    kept = project / ".cache-before"
    shutil.copytree(project / ".cache", kept)
    run(project, *answer)
    total = stats(project)["stages"]["answer-urban"]["misses"]
    expected = (project / "data/answers/urban.jsonl").read_bytes()
    assert total > 10
    for k in random.Random(9).sample(range(1, total), 5):
        shutil.rmtree(project / ".cache")
        shutil.rmtree(project / "data/calls", ignore_errors=True)
        shutil.copytree(kept, project / ".cache")
        killed = run(
            project,
            sys.executable,
            "-c",
            KILL_AFTER,
            "--domain",
            "urban",
            str(k),
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        run(project, *answer)
        again = stats(project)["stages"]["answer-urban"]
        assert again["misses"] == total - k, f"killed after {k} of {total}"
        assert (project / "data/answers/urban.jsonl").read_bytes() == expected
