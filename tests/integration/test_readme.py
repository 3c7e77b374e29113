"""The README's commands, as they stand there, in a copy of the project."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.integration.projects import ROOT, copy_project, run


def commands() -> list[str]:
    """The `simulrag` lines of the README's code blocks that need no file of the reader's."""
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("simulrag") and "FOLDER" not in line]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("readme") / "project")


def test_there_are_commands() -> None:
    assert len(commands()) >= 5


@pytest.mark.parametrize("command", commands())
def test_a_command_works(project: Path, command: str) -> None:
    _, *arguments = shlex.split(command)
    done = run(project, sys.executable, "-m", "flows.cli.app", *arguments)
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr


def test_the_pages_it_links_to_are_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
