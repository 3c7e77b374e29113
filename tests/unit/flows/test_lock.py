"""Locks between processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows.project import Project
from flows.refresh.lock import Held, locked

HOLDER = """
import sys
from pathlib import Path
from flows.project import Project
from flows.refresh.lock import locked
with locked(Project(Path(sys.argv[1])), "serve", "held"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_names_who_holds_it_and_goes_with_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        refused = pytest.raises(Held, match=f"^it is served by process {other.pid}$")
        with refused, locked(Project(tmp_path), "serve", "it is served"):
            pass
        with locked(Project(tmp_path), "2026-11-23T0300Z", "it is made"):
            other.kill()
            other.wait()
    with locked(Project(tmp_path), "serve", "it is served"):
        pass
