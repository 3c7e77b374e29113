"""Mode deferred through the whole pipeline: one round of batches a level, then the same outs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from simulrag.models.batch.rounds import fetch, submit
from simulrag.models.pending import PendingStore
from simulrag.testing.loopback import LoopbackServer, offline_answers
from tests.integration.projects import copy_project, dvc, run

pytestmark = pytest.mark.slow
SMALL = {
    "benchmark.questions": 2,
    "benchmark.templates": 2,
    "answer.samples": 2,
    "answer.baselines": False,
    "metrics.bootstrap": 100,
    "metrics.random_seeds": 2,
    "operations.prefect": "off",
}
ROUNDS = 5
"""Tool calls and answers; decomposition; one merge; all that judges a claim; synthesis."""


def simulrag(project: Path, *arguments: str) -> tuple[int, str]:
    done = run(project, sys.executable, "-m", "flows.cli.app", *arguments, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_same_command_goes_on_until_all_is_done(tmp_path: Path) -> None:
    with LoopbackServer(offline_answers()) as server:
        model = {
            "provider": "openai",
            "model": "rules",
            "base_url": server.url,
            "sampling": {"temperature": 0.0, "seed": 0},
            "tasks": {"closed_book": {"temperature": 1.0}},
        }
        changes = {**SMALL, "llm.answer": model, "operations.mode": "deferred"}
        project = copy_project(tmp_path / "project", **changes)
        dvc(project, "init", "--no-scm", "--quiet")
        code, said = simulrag(project, "run")
        assert (code, server.requests) == (75, []), said
        assert "calls pending" in said
        stage = [sys.executable, "-m", "flows.stages.answer", "--domain", "urban"]
        assert simulrag(project, "batch", "submit")[1].startswith("6 calls sent as batch-")
        assert "6 sent" in simulrag(project, "batch", "status")[1]
        code, said = simulrag(project, "batch", "import", "--json")
        assert (code, json.loads(said)["answered"]) == (0, 6), said
        store = PendingStore(project / ".cache/calls")
        for _ in range(ROUNDS - 1):
            done = run(project, *stage, check=False)
            assert done.returncode == 75, done.stderr
            assert "calls pending for" in done.stderr
            assert not (project / "data/answers/urban.jsonl").exists()
            assert len(list(submit(store, lambda store, part: None, again=False))) == 1
            assert fetch(store)[0].answered > 0
        code, said = simulrag(project, "run")
        assert code == 0, said
        answers = [json.loads(x) for x in (project / "data/answers/urban.jsonl").open()]
        assert [answer["failure"] for answer in answers] == [None, None]
        assert all(answer["final"] for answer in answers)
        assert simulrag(project, "batch", "export")[1].strip() == "no call waits to be sent"


def test_a_real_failure_is_no_waiting(tmp_path: Path) -> None:
    model = {"provider": "anthropic", "model": "m"}
    changes = {**SMALL, "llm.answer": model, "operations.mode": "deferred"}
    project = copy_project(tmp_path / "project", **changes)
    dvc(project, "init", "--no-scm", "--quiet")
    (project / "prompts/tool_calls.md.j2").write_text("{{ missing_value }}")
    code, said = simulrag(project, "run")
    assert code == 1, said
    assert "calls pending" not in said
