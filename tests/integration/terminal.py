"""Commands as a user types them in a project's folder, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from flows.cli.app import app
from flows.cli.main import ended


class Said(NamedTuple):
    """What a command ended with and wrote."""

    code: int
    out: str
    err: str


class Terminal:
    """A project's folder as the working directory, and commands there."""

    def __init__(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.project = project
        self._capsys = capsys
        monkeypatch.chdir(project)
        monkeypatch.setenv("COLUMNS", "160")

    def __call__(self, *arguments: str) -> Said:
        self._capsys.readouterr()
        code = ended(lambda: app(arguments))
        return Said(code, *self._capsys.readouterr())

    def passes(self, *arguments: str) -> str:
        """What a command writes that has to come through."""
        said = self(*arguments)
        assert said.code == 0, said.err
        return said.out


Opened = Callable[[Path], Terminal]


@pytest.fixture
def terminal_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Opened:
    """A terminal in a project's folder."""
    return lambda project: Terminal(project, monkeypatch, capsys)
