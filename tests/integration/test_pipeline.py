"""``dvc repro`` of the recorded default: nothing twice, the same bytes here and in a clone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.integration.projects import (
    ROOT,
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
SMALL = {"metrics.bootstrap": 100, "metrics.selection_seeds": 5}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that ran, committed its lock and pushed its data to a folder beside it."""
    folder = copy_project(tmp_path_factory.mktemp("pipeline").resolve() / "here", **SMALL)
    git_project(folder)
    dvc(folder, "repro", "-q")
    dvc(folder, "push", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Ran")
    return folder


def clone(project: Path, name: str) -> Path:
    """A clone beside it."""
    git(project.parent, "clone", "-q", str(project), name)
    return project.parent / name


def test_a_run_replays_everything_and_leaves_git_clean(project: Path) -> None:
    assert (project / "data/report/index.html").is_file()
    answers = (project / "data/answers/urban.jsonl").read_text().splitlines()
    assert len(answers) == 15
    assert all(json.loads(line)["failure"] is None for line in answers)
    seen = stats(project)["stages"]
    for stage in STAGES:
        assert seen[stage]["model_hits"] > 0, stage
        assert (seen[stage]["misses"], seen[stage]["missing"]) == (0, 0), stage
    assert git(project, "status", "--porcelain") == ""


def test_a_clone_pulls_and_has_nothing_to_do(project: Path) -> None:
    there = clone(project, "there")
    assert not (there / "data/report/index.html").exists()
    dvc(there, "pull", "-q")
    said = dvc(there, "repro")
    for stage in ("benchmark@urban", "answer@urban", "label@urban", "metrics@urban", "report"):
        assert f"Stage '{stage}' didn't change, skipping" in said
    assert not (there / ".cache/calls").exists()  # no stage ran: no call could be made
    assert outs(there) == outs(project)


def test_a_clone_makes_everything_again_to_the_same_bytes(project: Path) -> None:
    there = clone(project, "again")
    done = simulrag(there, "run", check=True)
    assert "Report: data/report/index.html" in done.stdout
    assert outs(there) == outs(project)
    assert git(there, "status", "--porcelain") == "", "dvc.lock is the same too"


def test_another_question_than_the_recorded_is_a_miss_that_explains_itself(project: Path) -> None:
    there = clone(project, "bare")
    change_params(there, **{"answer.max_claims": 11})
    done = run(there, sys.executable, "-m", "dvc", "repro", "answer@urban", check=False)
    assert done.returncode != 0
    assert "decompose" in done.stderr
    assert "simulrag use" in done.stderr
    assert stats(there)["stages"]["answer-urban"]["missing"] > 0


def test_other_budgets_measure_again_and_call_nothing(project: Path) -> None:
    before = stats(project)["stages"]
    change_params(project, **{"metrics.budgets_percent": [20, 40]})
    said = dvc(project, "repro")
    for stage in ("benchmark@urban", "answer@urban", "label@urban"):
        assert f"Stage '{stage}' didn't change, skipping" in said
    assert "Running stage 'metrics@urban'" in said
    assert "Running stage 'report'" in said
    assert stats(project)["stages"] == before


def test_a_failed_question_is_shown_and_retried(project: Path) -> None:
    """A failure written into an out makes ``retry`` force that stage, and the run heals it."""
    path = project / "data/answers/urban.jsonl"
    lines = path.read_text().splitlines()
    broken = json.loads(lines[0]) | {"failure": {"step": "verify", "reason": "the server hung up"}}
    path.unlink()  # it may be a link into DVC's cache, which must stay as it is
    path.write_text("\n".join([json.dumps(broken), *lines[1:]]) + "\n")
    done = simulrag(project, "retry", check=True)
    assert "again: answer@urban" in done.stderr
    assert path.read_text().splitlines() == lines


def test_a_domain_more_is_an_edit_of_params_yaml(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    text = (ROOT / "params.yaml").read_text()
    text = text.replace("domains:\n", "domains:\n  - urban2\n", 1)
    text = text.replace("simulators:\n", "simulators:\n  urban2: {name: urban}\n", 1)
    (project / "params.yaml").write_text(text)
    run(project, sys.executable, "-m", "dvc", "init", "--no-scm", "-q")
    dag = run(project, sys.executable, "-m", "dvc", "dag", "--dot").stdout
    for stage, after in (
        ("simulators", "benchmark@urban2"),
        ("benchmark@urban2", "answer@urban2"),
        ("answer@urban2", "label@urban2"),
        ("label@urban2", "metrics@urban2"),
        ("metrics@urban2", "report"),
    ):
        assert f'"{stage}" -> "{after}"' in dag
