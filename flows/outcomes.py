"""Stages that DVC starts, and how they ended: DVC turns every exit code into its own.

A stage adds a JSON line when it begins and one when it ends to the file that the environment
names, where it names one. A killed stage has no second line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from flows.watch.tracking import say
from simulrag.errors import CallsPending, EnvironmentFault
from simulrag.records import Record

OUTCOMES = "SIMULRAG_OUTCOMES"
"""Environment variable: the file."""


def run_child(
    folder: Path,
    *command: str,
    capture_output: bool = False,
    stdin: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a project's folder. Raises EnvironmentFault where it cannot be started.

    This interpreter's folder comes first on PATH, so that the stages which DVC starts use it too.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=_environment(),
            capture_output=capture_output,
            stdin=stdin,
            text=True,
            check=False,
        )
    except OSError as error:
        raise EnvironmentFault(f"{command[0]} cannot be started: {error.strerror}") from None


def said_child(folder: Path, *command: str, environment: Mapping[str, str]) -> int:
    """Run a program as ``run_child`` does and say its lines as they come; its exit code.

    Said here, they reach the log of a flow run too.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**_environment(), "PYTHONUNBUFFERED": "1", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            say(line.rstrip("\n"))
    return process.returncode


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1"}


class StageEnd(Record):
    """A stage's exit code (None: it began), with the class and the line of its error."""

    stage: str
    code: int | None = None
    error: str = ""
    text: str = ""


def note(stage: str, code: int | None = None, error: BaseException | None = None) -> None:
    """Append a line where ``OUTCOMES`` names a file."""
    place = os.environ.get(OUTCOMES)
    if place is None:
        return
    end = StageEnd(
        stage=stage,
        code=code,
        error=type(error).__name__ if error else "",
        text=" ".join(str(error).split()) if error else "",
    )
    with Path(place).open("a", encoding="utf-8") as file:
        file.write(end.model_dump_json() + "\n")


class StageOutcomes:
    """The outcomes noted so far."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> list[StageEnd]:
        """Every whole line, in order; a stage that was killed may have left half of one."""
        ends = []
        for line in self._file.read_bytes().splitlines():
            with suppress(ValidationError):
                ends.append(StageEnd.model_validate_json(line))
        return ends

    def errors(self) -> list[StageEnd]:
        """The ends with an error."""
        return [end for end in self.all() if end.error]

    def only_pending(self) -> bool:
        """Some stage waits for a batch, and every stage that began either waits or came through."""
        codes = [end.code for end in self.all()]
        ended = [code for code in codes if code is not None]
        return (
            CallsPending.exit_code in ended
            and set(ended) <= {0, CallsPending.exit_code}
            and len(codes) == 2 * len(ended)
        )


@contextmanager
def gathered() -> Iterator[StageOutcomes]:
    """Have the stages that are started meanwhile note how they end."""
    before = os.environ.get(OUTCOMES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.jsonl"
        file.touch()
        os.environ[OUTCOMES] = str(file)
        try:
            yield StageOutcomes(file)
        finally:
            if before is None:
                del os.environ[OUTCOMES]
            else:
                os.environ[OUTCOMES] = before
