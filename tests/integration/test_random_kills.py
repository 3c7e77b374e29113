"""Random faults and a random kill -9: the run ends complete, and what was stored is paid for once.

Eight questions twice in the suite. The acceptance in full is

    RANDOM_KILL_RUNS=10 RANDOM_KILL_QUESTIONS=50 pytest -n 0 tests/integration/test_random_kills.py
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls.inspection import read_calls
from simulrag.records import Answer, Question
from simulrag.testing.loopback import (
    CUT_OFF,
    NO_JSON_BODY,
    RESET,
    Act,
    Logged,
    LoopbackServer,
    fails,
)
from simulrag.testing.traffic import question, traffic
from tests.integration.projects import copy_project

pytestmark = pytest.mark.slow

RUNS = int(os.environ.get("RANDOM_KILL_RUNS", "2"))
QUESTIONS = int(os.environ.get("RANDOM_KILL_QUESTIONS", "8"))
RESTARTS = 12
IN_FLIGHT = 16
TRUNCATED = Act(text='{"claims": [{"index": 0, "tool_con')
"""A reply that says it is whole: refused by the schema; as prose it would be a reply."""
FAULTS = (
    fails(429, retry_after="0.05"),
    fails(429),
    fails(500),
    fails(503),
    RESET,
    NO_JSON_BODY,
    TRUNCATED,
    CUT_OFF,
)
RATE = 0.06


class Weather:
    """Random faults, and after a number of requests a kill -9."""

    def __init__(self, seed: int, kill_after: int) -> None:
        self.drawn = 0
        self.faults = 0
        self.victim: subprocess.Popen[str] | None = None
        self._random = random.Random(seed)
        self._kill_after = kill_after

    def __call__(self) -> Act:
        self.drawn += 1
        if self.drawn == self._kill_after and self.victim is not None:
            # A moment later, so that the blow falls anywhere in a call and not at its begin.
            threading.Timer(self._random.random() * 0.05, self.victim.kill).start()
        if self._random.random() < RATE:
            self.faults += 1
            return self._random.choice(FAULTS)
        return Act()


def start(project: Path) -> subprocess.Popen[str]:
    """The answer stage as a process of its own."""
    command = [sys.executable, "-m", "flows.stages.answer", "--domain", "urban"]
    return subprocess.Popen(
        [*command, "--benchmark", "questions.jsonl", "--out", "out"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


Call = tuple[str, ...]
"""What the wire and the cache both know of a call: its first messages and its sample."""


def stored(project: Path) -> set[Call]:
    """The model calls whose rows are committed."""
    calls = (row for row in read_calls(project / ".cache/calls") if row.kind == "model")
    return {identity(row.request["messages"], row.request["sample_index"]) for row in calls}


def answered(requests: Sequence[Logged]) -> Counter[Call]:
    """How often the server gave a whole and valid reply, by call; a repair is part of its call."""
    return Counter(
        identity(request.body["messages"], request.body["seed"])
        for request in requests
        if request.act == Act() or (request.act == TRUNCATED and request.schema_name is None)
    )


def identity(messages: Any, sample: Any) -> Call:
    """A call's first two messages, before any repair was asked for, and its sample index."""
    return (*(message["content"] for message in messages[:2]), str(sample))


@pytest.mark.parametrize("run", range(RUNS))
def test_nothing_stored_is_asked_for_again(tmp_path: Path, run: int) -> None:
    weather = Weather(seed=run, kill_after=random.Random(100 + run).randrange(5, 20 * QUESTIONS))
    with LoopbackServer(traffic(), chance=weather) as server:
        project = copy_project(
            tmp_path / "project",
            **{
                "operations.prefect": "off",
                "operations.retry": {"retries": 8, "backoff_s": 0.02, "longest_wait_s": 1},
                "operations.min_coverage": 1.0,
                "operations.concurrency": IN_FLIGHT,
                "answer.verbalized": False,
                "answer.verify": "selected",
                "llm.answer": {
                    "provider": "openai",
                    "model": "stub",
                    "base_url": server.url,
                    "sampling": {"seed": 0},
                },
            },
        )
        asked = [
            Question(
                question_id=f"q{i}",
                domain="urban",
                text=question(1000 * run + i),
                reference_answer="",
                scenario_id=f"s{i}",
            )
            for i in range(QUESTIONS)
        ]
        lines = "".join(item.model_dump_json() + "\n" for item in asked)
        (project / "questions.jsonl").write_text(lines)
        weather.victim = start(project)
        weather.victim.communicate(timeout=600)
        assert weather.victim.returncode == -signal.SIGKILL
        before, seen = stored(project), len(server.requests)
        for _ in range(RESTARTS):
            again = start(project)
            _, errors = again.communicate(timeout=600)
            if again.returncode == 0:
                break
            assert "came through, below" in errors, errors  # a question failed, to be made again
        assert again.returncode == 0, errors
    answers = [
        Answer.model_validate_json(line)
        for line in (project / "out/answers/urban.jsonl").read_text().splitlines()
    ]
    assert len(answers) == QUESTIONS
    assert all(answer.failure is None and answer.final for answer in answers)
    after = stored(project)
    early, late = answered(server.requests[:seen]), answered(server.requests[seen:])
    assert weather.faults > 0
    assert set() < before < after
    # Committed before the blow: answered once before it, never asked for again, repairs included.
    asked_late = {
        identity(request.body["messages"], request.body["seed"])
        for request in server.requests[seen:]
    }
    assert before & asked_late == set()
    assert {call: early[call] for call in before} == dict.fromkeys(before, 1)
    # All others: once afterwards; before it at most the calls in flight had their answer.
    assert late == Counter(after - before)
    lost = early.keys() - before
    assert len(lost) <= IN_FLIGHT
    assert all(early[call] == 1 for call in lost)
