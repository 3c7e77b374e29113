"""The README's commands and its library example, as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.records import STANDINGS
from simulrag.testing import LoopbackServer, stand_in
from tests.integration.projects import ROOT, SIMULRAG, copy_project, run, simulrag
from tests.servers.proxy import TlsProxy

README = (ROOT / "README.md").read_text(encoding="utf-8")
KEY = "sk-readme-example"


def commands() -> list[str]:
    """The `simulrag` lines of those code blocks that ask no model."""
    blocks = re.findall(r"```\n(.*?)```", README, re.DOTALL)
    lines = [
        line.split("  #")[0].strip()
        for block in blocks
        if "--model" not in block
        for line in block.splitlines()
    ]
    return [line for line in lines if line.startswith("simulrag")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which urban's questions were answered, by replay."""
    folder = copy_project(tmp_path_factory.mktemp("readme") / "project")
    run(folder, *SIMULRAG, "stage", "simulators")
    for stage in ("benchmark", "answer"):
        run(folder, *SIMULRAG, "stage", stage, "--domain", "urban")
    shutil.copytree(ROOT / "examples/check", folder / "examples/check")
    return folder


def test_there_are_commands() -> None:
    assert len(commands()) >= 5


@pytest.mark.parametrize("command", commands())
def test_a_command_works(project: Path, command: str) -> None:
    _, *arguments = shlex.split(command)
    done = simulrag(project, *arguments)
    # The text that is checked there has errors, which is no failure of the command.
    assert done.returncode == (3 if arguments[0] == "check" else 0), done.stderr
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr


def example() -> str:
    """The README's Python block."""
    (text,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    return str(text)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as server:
        yield server


@pytest.fixture
def proxy(server: LoopbackServer, tmp_path: Path) -> Iterator[TlsProxy]:
    with TlsProxy("api.openai.com", server.url, tmp_path) as proxy:
        yield proxy


def run_alone(
    folder: Path, text: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Python over ``text``, in an empty folder, with caches of its own and no project in reach."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", text],
        cwd=empty,
        env={
            **kept,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(folder / "cache"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_runs_from_an_empty_folder_and_never_pays_twice(
    tmp_path: Path, server: LoopbackServer, proxy: TlsProxy
) -> None:
    environment = {**proxy.environment, "OPENAI_API_KEY": KEY}
    done = run_alone(tmp_path, example(), environment)
    assert done.returncode == 0, done.stderr
    answer, *statements = done.stdout.strip().splitlines()
    assert answer
    standings = {line.partition(" | ")[0] for line in statements}
    assert "checked" in standings
    assert standings <= set(STANDINGS)
    asked = len(server.requests)
    assert asked
    assert {request.path for request in server.requests} == {"/v1/responses"}
    assert {request.body["model"] for request in server.requests} == {"gpt-5-mini"}
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert proxy.refused == []
    assert list((tmp_path / "empty").iterdir()) == []

    again = run_alone(tmp_path, example(), environment)
    assert again.stdout == done.stdout
    assert len(server.requests) == asked
