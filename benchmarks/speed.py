"""How long a user waits: the whole run, DVC with nothing to do, a forced replay, the start-up.

In a fresh clone of what is committed, with the packages of this Python: set-up is not measured.
Then once more with the project's Prefect server up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from benchmarks.stub_runs import ROOT

REPEATS = 5
PORT = "4799"
SUFFIX = "_with_server_s"


def speed() -> Iterator[Figure]:
    """Seconds on the clock; the load of the machine beside them."""
    yield "machine_load_1min", os.getloadavg()[0], "processes", os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        clone = _clone(Path(folder) / "plain")
        yield from _run(clone, "_s")
        for name, command in (
            ("cli_help_s", ("simulrag", "--help")),
            ("import_simulrag_s", ("python", "-c", "import simulrag")),
        ):
            times = [_seconds(clone, *command) for _ in range(REPEATS + 1)]
            yield name, median(times[1:]), "s", REPEATS
        watched = _clone(Path(folder) / "watched")
        _seconds(watched, "simulrag", "ui", "--port", PORT)
        try:
            yield from _run(watched, SUFFIX)
        finally:
            _seconds(watched, "simulrag", "ui", "--stop")


def _run(clone: Path, suffix: str) -> Iterator[Figure]:
    # -o: set-up is taken as done.
    yield f"make_run{suffix}", _seconds(clone, "make", "-o", "setup", "run"), "s", 1
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    yield f"make_run{suffix.removesuffix('_s')}_changed_files", len(changed), "files", 1
    yield f"repro_unchanged{suffix}", _seconds(clone, "dvc", "repro"), "s", 1
    yield f"repro_force{suffix}", _seconds(clone, "dvc", "repro", "--force"), "s", 1


def _clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


def _seconds(folder: Path, *command: str) -> float:
    """The time that a command takes. Raises RuntimeError, with what it said, where it fails."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    environment = {**kept, "PATH": path, "PYTHONPATH": str(folder), "DVC_NO_ANALYTICS": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - start
    if done.returncode:
        said = f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{said}")
    return taken
