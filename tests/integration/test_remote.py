"""A DVC remote in a folder: a clone elsewhere pulls, and makes no call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.integration.projects import (
    change_params,
    copy_project,
    dvc,
    git,
    git_project,
    outs,
    run,
    simulrag,
    stats,
)

pytestmark = pytest.mark.slow
STAGES = ("benchmark-urban", "answer-urban", "label-urban")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that ran, committed its lock and pushed its data to a folder beside it."""
    project = copy_project(tmp_path_factory.mktemp("remote").resolve() / "here")
    git_project(project)
    dvc(project, "repro", "-q")
    dvc(project, "push", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Ran")
    return project


def clone(pushed: Path, name: str) -> Path:
    """A clone beside it."""
    git(pushed.parent, "clone", "-q", str(pushed), name)
    return pushed.parent / name


def test_a_run_leaves_git_clean_and_asked_nobody(pushed: Path) -> None:
    assert git(pushed, "status", "--porcelain") == ""
    seen = stats(pushed)["stages"]
    assert all(seen[stage]["model_hits"] > 0 for stage in STAGES)
    assert {seen[stage]["model_misses"] for stage in STAGES} == {0}
    assert {seen[stage]["missing"] for stage in STAGES} == {0}


def test_a_clone_pulls_and_has_nothing_to_do(pushed: Path) -> None:
    there = clone(pushed, "there")
    assert not (there / "data/report/index.html").exists()
    dvc(there, "pull", "-q")
    said = dvc(there, "repro")
    assert all(f"Stage '{name}' didn't change" in said for name in ("answer@urban", "report"))
    assert not (there / ".cache/calls").exists()  # no stage ran: no call could be made
    assert outs(there) == outs(pushed)


def test_a_clone_makes_everything_again_to_the_same_bytes(pushed: Path) -> None:
    there = clone(pushed, "again")
    done = simulrag(there, "run", check=True)
    assert "Report: data/report/index.html" in done.stdout
    assert outs(there) == outs(pushed)
    assert git(there, "status", "--porcelain") == ""


def test_another_question_than_the_recorded_is_a_miss_that_explains_itself(pushed: Path) -> None:
    there = clone(pushed, "bare")
    change_params(there, **{"answer.max_claims": 11})
    done = run(there, sys.executable, "-m", "dvc", "repro", "answer@urban", check=False)
    assert done.returncode != 0
    assert "decompose" in done.stderr
    assert "simulrag use" in done.stderr
    assert stats(there)["stages"]["answer-urban"]["missing"] > 0
