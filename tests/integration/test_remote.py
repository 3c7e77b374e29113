"""A DVC remote in a folder: a clone elsewhere pulls, and makes no call."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests.integration.projects import ROOT, copy_project, dvc, outs, run, stats

pytestmark = pytest.mark.slow
STAGES = ("benchmark-urban", "answer-urban", "label-urban")
SMALL = {
    "benchmark.questions": 3,
    "benchmark.templates": 3,
    "metrics.bootstrap": 100,
    "metrics.random_seeds": 2,
    "metrics.further_centralities": [],
    "operations.prefect": "off",
}


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that ran, committed its lock and pushed its data to a folder beside it."""
    project = copy_project(tmp_path_factory.mktemp("remote").resolve() / "here", **SMALL)
    for name in (".gitignore", "data/.gitignore"):
        shutil.copy(ROOT / name, project / name)
    run(project, "git", "init", "-q", "-b", "main")
    run(project, "git", "config", "user.name", "Somebody")
    run(project, "git", "config", "user.email", "somebody@example.com")
    dvc(project, "init", "-q")
    dvc(project, "remote", "add", "-d", "store", "../store")
    dvc(project, "repro", "-q")
    dvc(project, "push", "-q")
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-qm", "Ran")
    return project


def clone(pushed: Path, name: str) -> Path:
    """A clone in replay mode: a call that is not stored is an error there."""
    folder = pushed.parent / name
    run(pushed.parent, "git", "clone", "-q", str(pushed), name)
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params["operations"]["mode"] = "replay"
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    return folder


def test_a_clone_pulls_and_has_nothing_to_do(pushed: Path) -> None:
    there = clone(pushed, "there")
    assert not (there / "data/report/index.html").exists()
    dvc(there, "pull", "-q")
    said = dvc(there, "repro")
    assert all(f"Stage '{name}' didn't change" in said for name in ("answer@urban", "report"))
    assert not (there / ".cache/calls").exists()  # no stage ran: no call could be made
    assert outs(there) == outs(pushed)


def test_a_clone_makes_everything_again_and_no_call(pushed: Path) -> None:
    """The exports alone come from the remote; every stage works, on stored calls."""
    there = clone(pushed, "exports")
    dvc(there, "pull", "-q", *(f"data/calls/{stage}.parquet" for stage in STAGES))
    lock = (there / "dvc.lock").read_bytes()
    dvc(there, "repro", "--force")
    seen = stats(there)["stages"]
    assert {stage: seen[stage]["misses"] for stage in STAGES} == dict.fromkeys(STAGES, 0)
    assert all(seen[stage]["hits"] > 0 for stage in STAGES)
    assert outs(there) == outs(pushed)
    assert (there / "dvc.lock").read_bytes() == lock


def test_without_the_data_replay_says_what_is_missing(pushed: Path) -> None:
    there = clone(pushed, "bare")
    done = run(there, sys.executable, "-m", "dvc", "repro", "--force", check=False)
    assert done.returncode != 0
    assert "replay" in done.stderr
