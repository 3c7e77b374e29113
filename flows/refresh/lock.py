"""Locks on this machine: one that serves a project's schedule, one that makes a period.

A lock goes with the process that holds it, also where that is killed; its file stays.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from flows.files import check_folder
from flows.project import Project
from simulrag.errors import EnvironmentFault


class Held(EnvironmentFault):
    """Another process holds the lock."""


@contextmanager
def locked(project: Project, name: str, held: str) -> Iterator[None]:
    """Hold a lock while the context is open. Raises Held: ``held``, and by which process."""
    folder = project.root / ".cache" / "locks"
    check_folder(folder)
    with (folder / name).open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Held(f"{held} by process {file.read()}") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
