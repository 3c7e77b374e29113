"""What a refresh writes into its clone's parameters, and what it reads from the branch."""

from __future__ import annotations

import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from flows.params import load_params
from flows.project import Project
from flows.refresh.clone import (
    branch_tip,
    budget_values,
    pasts,
    set_params,
    share_calls,
    source_commit,
)
from simulrag.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    shutil.copy(ROOT / "params.yaml", tmp_path / "params.yaml")
    return Project(tmp_path)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_the_seed_is_the_one_line_that_changes(project: Project) -> None:
    before = project.params.read_text().splitlines()
    set_params(project, {"benchmark.seed": 77})
    after = project.params.read_text().splitlines()
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert changed == [("  seed: 20261", "  seed: 77")]


def test_a_refreshs_budget_counts_from_its_day(project: Project) -> None:
    set_params(project, budget_values(5.0, None, "2026-11-23T0300Z"))
    budget = load_params(project.params).operations.budget
    assert (budget.usd, budget.tokens, budget.since) == (5.0, None, date(2026, 11, 23))
    assert budget_values(None, None, "2026-11-23T0300Z") == {}


def test_the_call_cache_is_shared_by_a_link(project: Project, tmp_path: Path) -> None:
    clone = Project(tmp_path / "work")
    clone.root.mkdir()
    shutil.copy(project.params, clone.params)
    share_calls(project, clone)
    (project.root / ".cache/calls/paid").write_text("a reply")
    assert (clone.root / ".cache/calls/paid").read_text() == "a reply"
    set_params(clone, {"operations.cache": "elsewhere/calls"})
    share_calls(project, clone)
    assert (clone.root / "elsewhere/calls").is_symlink()


def test_of_a_period_that_ran_twice_the_newer_counts(project: Project) -> None:
    folder = project.root
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Start")
    assert pasts(project, "refresh") == []
    git(folder, "checkout", "-q", "-b", "refresh")
    for subject in (
        "Refresh 2026-11-09T0300Z: failed",
        "Refresh 2026-11-16T0300Z: completed",
        "Refresh 2026-11-09T0300Z: completed",
        "Refresh the page by hand",
    ):
        git(folder, "commit", "-q", "--allow-empty", "-m", subject)
    found = [(past.period, past.status) for past in pasts(project, "refresh")]
    assert found == [("2026-11-16T0300Z", "completed"), ("2026-11-09T0300Z", "completed")]
    tip = branch_tip(project, "refresh")
    assert tip == source_commit(project)


def test_a_project_without_git_is_told_to_have_one(project: Project) -> None:
    with pytest.raises(InputError, match="git repository"):
        source_commit(project)
