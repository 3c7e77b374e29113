"""A command whose output cannot be written says so in one line."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.integration.projects import SIMULRAG, copy_project, environment_of

pytestmark = pytest.mark.slow
FULL = "error: <stdout> cannot be written: No space left on device\n"
LARGE = "error: <stdout> cannot be written: File too large\n"
CLOSED = "error: stdout is closed; send it somewhere, to /dev/null if nowhere\n"
GONE = "error: the working folder is gone; go to one that is there\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("streams") / "project")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("{} params >/dev/full", 1, FULL),
        ("{} --version >/dev/full", 1, FULL),
        ("{} cache stats --json >/dev/full", 1, FULL),
        ("ulimit -f 1; {} params >out.txt", 1, LARGE),
        ("{} params >&-", 1, CLOSED),
        ("{} --help >&-", 1, CLOSED),
        ("{} params >/dev/null 2>&-", 0, ""),
        ("{} questions --domain nope 2>/dev/full", 2, ""),
        ("{} questions --domain nope 2>&-", 2, ""),
        ("{} params <&- >/dev/null", 0, ""),
        ("mkdir gone; cd gone; rmdir ../gone; {} params", 1, GONE),
        ("mkdir gone; cd gone; rmdir ../gone; {} import-official .", 1, GONE),
    ],
)
def test_an_end_without_a_traceback(project: Path, line: str, code: int, said: str) -> None:
    done = subprocess.run(
        ["bash", "-c", line.format(shlex.join(SIMULRAG))],
        cwd=project,
        env=environment_of(project),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize("argument", ["params", "--version"])
def test_a_reader_that_has_left_is_no_error_to_tell(project: Path, argument: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*SIMULRAG, argument],
        cwd=project,
        env=environment_of(project),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
