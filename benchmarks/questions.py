"""How long a large benchmark of epidemiology takes: the real stage, offline, by backend.

The stage draws templates, runs every scenario on the simulator and writes and checks the questions.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.scale import run_stage
from tests.integration.projects import copy_project

COUNT = 1000
MEMBERS = 20
BACKENDS = ("emulator", "mechanistic")


def questions() -> Iterator[Figure]:
    """1,000 questions with each backend: seconds on the clock and of CPU, and the load beside it.

    The copy's compiled functions are its own, so both include compiling them once.
    """
    with tempfile.TemporaryDirectory() as folder:
        for backend in BACKENDS:
            found = _measure(Path(folder) / backend, backend)
            for name, unit in (("seconds", "s"), ("cpu", "CPU s")):
                yield f"epidemiology_questions_{backend}_{name}", found[name], unit, COUNT
            yield "machine_load_1min", os.getloadavg()[0], "processes", os.cpu_count() or 1


def _measure(folder: Path, backend: str) -> Mapping[str, float]:
    project = copy_project(
        folder,
        **{
            "domains": ["epidemiology"],
            "benchmark.questions": COUNT,
            "operations.prefect": "off",
            "simulators.epidemiology.settings": {"members": MEMBERS, "backend": backend},
        },
    )
    run_stage(project, "simulator", "epidemiology")
    seconds, cpu, _ = run_stage(project, "benchmark", "epidemiology")
    return {"seconds": seconds, "cpu": cpu}
