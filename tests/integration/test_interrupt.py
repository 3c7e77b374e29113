"""Ctrl-C at a provider that hangs: over within ten seconds, and what was paid for is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from simulrag.calls import cache_stats
from simulrag.testing.loopback import HANG, Act, LoopbackServer, canned
from tests.integration.projects import SIMULRAG, copy_project, write_questions

KEY = "sk-planted-4f1d9b7c2e"
SAMPLES = 4
PAID = 3


@pytest.mark.slow
def test_interrupted_in_flight(tmp_path: Path) -> None:
    answers = canned({None: "Travel time falls.", "ToolCalls": '{"calls": []}'})
    with LoopbackServer(answers) as server:
        folder = copy_project(
            tmp_path / "project",
            **{
                "operations.concurrency": 1,
                "operations.budget": {"tokens": 10_000_000},
                "answer.samples": SAMPLES,
                "llm.answer": {
                    "provider": "openai",
                    "model": "gpt-5-mini",
                    "base_url": server.url,
                    "api_key_env": "PLANTED_KEY",
                    "paid": True,
                    "sampling": {"max_output_tokens": 500},
                },
            },
        )
        file = write_questions(folder, "What if the speed limit falls?")
        server.script(*[Act()] * PAID, HANG)
        process = subprocess.Popen(
            [
                *(*SIMULRAG, "stage", "answer", "--domain", "urban"),
                *("--benchmark", str(file), "--out", "out"),
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "PLANTED_KEY": KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        _wait_for_requests(server, PAID + 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        made = len(server.requests)
    assert process.returncode == 130, err
    assert "interrupted; every finished call is kept, run the same command again" in err
    assert "Traceback" not in err
    assert KEY not in out + err
    assert made == PAID + 1
    assert cache_stats(folder / ".cache/calls").by_kind["model"] == PAID
    _nowhere(folder)


def _wait_for_requests(server: LoopbackServer, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.requests) < count:
        assert time.monotonic() < deadline, "the stage did not come so far"
        time.sleep(0.02)


def _nowhere(folder: Path) -> None:
    """The planted key is in no file of the project."""
    for path in folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
