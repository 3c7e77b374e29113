"""The recorded run, replayed once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from tests.integration.projects import copy_project, simulrag

STAGES = ("benchmark", "answer", "label", "metrics")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A project of domain urban with all its outs; shared by the workers: copy it to change it."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder = shared / "finished"
    with FileLock(shared / "finished.lock"):
        if not (folder / "done").exists():
            copy_project(folder)
            simulrag(folder, "stage", "simulators", check=True)
            for stage in STAGES:
                simulrag(folder, "stage", stage, "--domain", "urban", check=True)
            simulrag(folder, "stage", "report", check=True)
            (folder / "done").touch()
    return folder
