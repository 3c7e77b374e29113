"""Mode deferred through a stage: a round of batches a level, then the answers; no failure."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.loopback import question
from tests.integration.projects import copy_project, dvc, simulrag, stub_model, write_questions
from tests.integration.terminal import Terminal

pytestmark = pytest.mark.slow
SMALL = {"answer.samples": 2, "answer.beside": [], "operations.mode": "deferred"}
MOST_ROUNDS = 9


def test_the_same_command_goes_on_until_all_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with LoopbackServer(stand_in()) as server:
        changes = {**SMALL, "llm.answer": stub_model(server.url)}
        project = copy_project(tmp_path / "project", **changes)
        shutil.rmtree(project / "data/recorded")  # so that all that is stored came by a batch
        write_questions(project, question(0), question(1))
        terminal = Terminal(project, monkeypatch, capsys)
        command = ("stage", "answer", "-d", "urban")
        out = project / "data/answers/urban.jsonl"
        rounds = 0
        while (done := terminal(*command)).code == 75:
            assert "calls pending for" in done.err
            assert not out.exists()
            assert "calls sent as batch-" in terminal.passes("batch", "submit")
            taken = json.loads(terminal.passes("batch", "import", "--json"))
            assert taken["answered"] > 0
            rounds += 1
            assert rounds <= MOST_ROUNDS
        assert done.code == 0, done.err
        answers = [json.loads(line) for line in out.read_text().splitlines()]
        assert [answer["failure"] for answer in answers] == [None, None]
        assert all(answer["final"]["text"] for answer in answers)
        assert rounds == 3
        assert terminal.passes("batch", "export").strip() == "no call waits to be sent"


def test_a_real_failure_is_no_waiting(tmp_path: Path) -> None:
    changes = {**SMALL, "llm.answer": {"provider": "anthropic", "model": "m"}}
    project = copy_project(tmp_path / "project", **changes)
    dvc(project, "init", "--no-scm", "--quiet")
    prompt = project / "prompts/plan.md.j2"
    prompt.unlink()  # a link to the project's own
    prompt.write_text("{{ missing_value }}")
    done = simulrag(project, "run")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "calls pending" not in done.stdout + done.stderr
