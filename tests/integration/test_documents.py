"""Documents as evidence, from files to an answer: by themselves, and beside a simulator."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulrag.testing.loopback import LoopbackServer, question, stand_in
from simulrag.testing.wires import Body, schema_name
from tests.integration.projects import ROOT, copy_project
from tests.integration.terminal import Terminal

PAGE = (ROOT / "docs" / "questions-by-form.md").read_text(encoding="utf-8")
QUERY = {"tool": "query_rag", "arguments": {"query": "selection budget of claims", "top_k": 2}}
RUN = {"tool": "run_scenario", "arguments": {"speed_factor": 0.92}}


def calling(*calls: dict[str, Any]) -> Callable[[Body], str]:
    """Stand-ins, with these tool calls."""
    answer = stand_in()

    def reply(body: Body) -> str:
        planned = {"calls": calls, "more": False}
        return json.dumps(planned) if schema_name(body) == "Plan" else answer(body)

    return reply


def commands() -> list[list[str]]:
    """What the page's section on documents tells to type, in order."""
    return [shlex.split(line)[1:] for block in blocks("") for line in block.splitlines()]


def blocks(language: str) -> list[str]:
    """That section's blocks in a language."""
    section = PAGE.partition("\n## Documents as evidence\n")[2].partition("\n## ")[0]
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.M | re.S)
    return [text for named, text in found if named == language]


def test_the_page_works_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = copy_project(tmp_path / "project")
    (project / "docs").symlink_to(ROOT / "docs")
    typed = Terminal(project, monkeypatch, capsys).passes
    build, check, handbook, simulate, ask = commands()
    assert "Licence: Apache-2.0" in typed(*build)
    (block,) = blocks("yaml")
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["simulators"] |= yaml.safe_load(block)["simulators"]
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    assert "FAILED" not in typed(*check)
    assert "### query_rag" in typed(*handbook)
    assert typed(*simulate).count("<passage number=") == 2

    assert ask[-2:] == ["--model", "openai:gpt-5-mini"]
    with LoopbackServer(calling(QUERY)) as server:
        answer = json.loads(typed(*ask[:-1], f"{server.url}#stub", "--json"))
    (evidence,) = answer["evidence"]
    assert evidence["simulator"] == "library"
    assert "Licence: Apache-2.0" in evidence["text"]
    assert answer["statements"]

    run = ("run_scenario", json.dumps(RUN["arguments"]), "--json")
    assert json.loads(typed("simulate", "urban", *run))["from_cache"] is False
    with LoopbackServer(calling(RUN, QUERY)) as server:
        named = ("--domain", "urban-house", "--model", f"{server.url}#stub", "--json")
        answer = json.loads(typed("ask", question(3), *named))
    planned, further = answer["evidence"][:2], answer["evidence"][2:]
    assert [item["simulator"] for item in planned] == ["urban", "library"]
    assert {item["simulator"] for item in further} <= {
        "urban",
        "library",
    }  # what is open is looked for
    assert json.loads(typed("simulate", "urban-house", *run))["from_cache"] is True


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["corpus/x", "note.md"], "'note.md' carries no licence: give --licence"),
        (["flows", "note.md"], "flows is there and is not a corpus"),
    ],
)
def test_wrong_input_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    (tmp_path / "note.md").write_text("Ice melts.")
    (tmp_path / "params.yaml").touch()
    (tmp_path / "flows" / "deep").mkdir(parents=True)
    said = Terminal(tmp_path, monkeypatch, capsys)("library", "build", *arguments)
    assert said.code == 2
    assert reason in said.err
    assert said.err.count("\n") == 1
