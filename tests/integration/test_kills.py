"""kill -9 in a stage: the rerun makes exactly the calls that are missing, and gives equal bytes."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import read_calls
from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.loopback import CUT_OFF, RESET, Logged, fails, question
from simulrag.testing.wires import Act
from tests.integration.projects import copy_project, start_answers, stub_model, write_questions

pytestmark = pytest.mark.slow

QUESTIONS = 6
IN_FLIGHT = 16
FAULTS = (fails(429, retry_after="0.05"), fails(500), fails(503), RESET, CUT_OFF)
RATE = 0.04
RESTARTS = 6

Call = tuple[str, ...]
"""What the wire and the cache both know of a call: its first messages and its sample."""


class Weather:
    """Random faults, and after a number of requests a kill -9."""

    def __init__(self, seed: int, kill_after: int) -> None:
        self.victim: subprocess.Popen[str] | None = None
        self.faults = 0
        self._drawn = 0
        self._kill_after = kill_after
        self._random = random.Random(seed)

    def __call__(self) -> Act:
        self._drawn += 1
        if self._drawn == self._kill_after and self.victim is not None:
            # A moment later, so that the blow falls anywhere in a call and not at its begin.
            threading.Timer(self._random.random() * 0.05, self.victim.kill).start()
        if self._random.random() < RATE:
            self.faults += 1
            return self._random.choice(FAULTS)
        return Act()


def answering(folder: Path, url: str) -> Path:
    """A project with questions of its own and a server for a model."""
    project = copy_project(
        folder,
        **{
            "operations.retries": 8,
            "operations.min_coverage": 1.0,
            "operations.concurrency": IN_FLIGHT,
            "answer.verbalized": False,
            "answer.beside": [],
            "answer.verify": "selected",
            "llm.answer": stub_model(url),
        },
    )
    write_questions(project, *map(question, range(QUESTIONS)))
    return project


def ended(project: Path) -> None:
    """Run the stage until it comes through; a question that failed is made again."""
    for _ in range(RESTARTS):
        stage = start_answers(project)
        _, errors = stage.communicate(timeout=300)
        if stage.returncode == 0:
            return
        assert "came through, below" in errors, errors
    raise AssertionError(errors)


def answers(project: Path) -> bytes:
    return (project / "data/answers/urban.jsonl").read_bytes()


def stored(project: Path) -> set[Call]:
    """The model calls whose rows are committed."""
    calls = (row for row in read_calls(project / ".cache/calls") if row.kind == "model")
    return {identity(row.request["messages"], row.request["sample_index"]) for row in calls}


def asked(requests: Sequence[Logged]) -> Counter[Call]:
    """How often the server was asked for a call and gave a whole reply."""
    return Counter(
        identity(request.body["messages"], request.body["seed"])
        for request in requests
        if request.act == Act()
    )


def identity(messages: Any, sample: Any) -> Call:
    """A call's first two messages and its sample index."""
    return (*(message["content"] for message in messages[:2]), str(sample))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The answers of a run that nothing befell."""
    with LoopbackServer(stand_in()) as server:
        project = answering(tmp_path_factory.mktemp("whole") / "project", server.url)
        ended(project)
    return answers(project)


def test_what_was_stored_before_the_blow_is_never_asked_for_again(
    tmp_path: Path, whole: bytes
) -> None:
    weather = Weather(seed=1, kill_after=random.Random(101).randrange(5, 3 * QUESTIONS))
    with LoopbackServer(stand_in(), chance=weather) as server:
        project = answering(tmp_path / "project", server.url)
        weather.victim = start_answers(project)
        weather.victim.communicate(timeout=300)
        assert weather.victim.returncode == -signal.SIGKILL
        before, seen = stored(project), len(server.requests)
        ended(project)
    after = stored(project)
    late = asked(server.requests[seen:])
    assert weather.faults > 0
    assert set() < before < after
    # Exactly what is missing: each once, and nothing that was committed before the blow.
    assert late == Counter(after - before)
    # Answered before the blow and lost by it: no more than were in flight.
    assert len(asked(server.requests[:seen]).keys() - before) <= IN_FLIGHT
    assert answers(project) == whole
