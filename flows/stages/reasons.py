"""Why stages stopped, for whoever started them: DVC turns every exit code into its own.

A stage that ends with a known error adds a line to the file that the environment names, where it
names one.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

REASONS = "SIMULRAG_REASONS"
"""Environment variable: the file that errors are told to."""


class Reason(NamedTuple):
    """The class of an error, and its one line."""

    kind: str
    text: str


def tell(error: Exception) -> None:
    """Add an error to the file, if somebody wants to know."""
    place = os.environ.get(REASONS)
    if place is None:
        return
    text = " ".join(str(error).split())
    with Path(place).open("a", encoding="utf-8") as file:
        file.write(json.dumps([type(error).__name__, text]) + "\n")


class Told:
    """The file, while the processes that write it run."""

    def __init__(self, file: Path) -> None:
        self.environment = {REASONS: str(file)}
        self._file = file

    def reasons(self) -> list[Reason]:
        """What was told so far, in order."""
        lines = self._file.read_text(encoding="utf-8").splitlines()
        return [Reason(*json.loads(line)) for line in lines]


@contextmanager
def listening() -> Iterator[Told]:
    """A file for processes that are started with ``environment``."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reasons"
        file.touch()
        yield Told(file)
