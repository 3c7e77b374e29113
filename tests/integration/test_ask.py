"""``simulrag ask`` with a model on 127.0.0.1: subjects, one voice each, and what was checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli.app import app
from flows.cli.errors import ended
from simulrag.models.base import Message
from simulrag.testing import LoopbackServer
from simulrag.testing.sections import numbered, section
from simulrag.testing.traffic import SUBJECTS, question, traffic
from simulrag.testing.wires import Body, messages, schema_name
from tests.integration.projects import copy_project

CHECKED = {"checked", "corrected"}


def answers() -> Any:
    """Real volume, the claims grouped by what they name."""
    usual = traffic()

    def answer(body: Body) -> str:
        said = [Message.model_validate(message) for message in messages(body)]
        if schema_name(body) == "SubjectsReply":
            return json.dumps({"subjects": list(_subjects(numbered(str(section(said, "claims")))))})
        uncovered = section(said, "answer") is None and schema_name(body) == "Decomposition"
        return json.dumps({"claims": []}) if uncovered else usual(body)

    return answer


def _subjects(claims: list[str]) -> Iterator[dict[str, Any]]:
    for name in SUBJECTS:
        own = [at for at, claim in enumerate(claims) if name in claim]
        if own:
            facet = {"kind": "number", "exclusive": True, "claims": own}
            yield {"about": name, "facets": [facet], "rests_on": []}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = copy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", "160")
    return made


@pytest.mark.usefixtures("project")
def test_a_question_is_answered_by_subject(capsys: pytest.CaptureFixture[str]) -> None:
    with LoopbackServer(answers()) as server:

        def said(*more: str) -> str:
            words = ("ask", question(3), "--domain", "urban", "--model", f"{server.url}#a", *more)
            capsys.readouterr()
            assert ended(lambda: app(words)) == 0, capsys.readouterr().err
            return capsys.readouterr().out

        found = json.loads(said("--method", "reconciled", "--json"))
        text = said("--method", "reconciled")
        paper = json.loads(said("--method", "paper", "--json"))
    about = [subject["about"] for subject in found["subjects"]]
    assert len(about) > 3
    spoken = [statement["subject"] for statement in found["statements"]]
    assert len(spoken) == len(set(spoken)), "an exclusive facet has one voice"
    assert {one["standing"] for one in found["statements"]} & CHECKED
    for statement in found["statements"]:
        assert statement["text"] in text
    for name in about:
        assert f"{name} (" in text
    assert "claims sent to the simulator's evidence" in text
    assert "of the votes" in text
    assert (paper["method"], paper["subjects"], paper["statements"]) == ("simulrag", [], [])
