"""``dvc repro`` of the recorded default: nothing twice, the same bytes every time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.integration.projects import change_params, copy_project, dvc, outs, run, stats

pytestmark = pytest.mark.slow
STAGES = ("benchmark-urban", "answer-urban", "label-urban")
SMALL = {"metrics.bootstrap": 100, "metrics.random_seeds": 5}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("pipeline") / "project", **SMALL)
    dvc(folder, "init", "--no-scm", "--quiet")
    dvc(folder, "repro")
    return folder


def test_the_first_run_replays_everything(project: Path) -> None:
    assert (project / "data/report/index.html").is_file()
    answers = (project / "data/answers/urban.jsonl").read_text().splitlines()
    assert len(answers) == 15
    assert all(json.loads(line)["failure"] is None for line in answers)
    seen = stats(project)["stages"]
    for stage in STAGES:
        assert seen[stage]["hits"] > 0, stage
        assert (seen[stage]["misses"], seen[stage]["missing"]) == (0, 0), stage


def test_nothing_changed_runs_nothing(project: Path) -> None:
    said = dvc(project, "repro")
    for stage in ("benchmark@urban", "answer@urban", "label@urban", "metrics@urban", "report"):
        assert f"Stage '{stage}' didn't change, skipping" in said


def test_other_budgets_measure_again_and_call_nothing(project: Path) -> None:
    before = stats(project)["stages"]
    text = (project / "params.yaml").read_text()
    change_params(project, **{"metrics.budgets_percent": [20, 40]})
    said = dvc(project, "repro")
    for stage in ("benchmark@urban", "answer@urban", "label@urban"):
        assert f"Stage '{stage}' didn't change, skipping" in said
    assert "Running stage 'metrics@urban'" in said
    assert "Running stage 'report'" in said
    assert stats(project)["stages"] == before
    (project / "params.yaml").write_text(text)
    dvc(project, "repro")


def test_forced_it_pays_for_nothing_and_gives_the_same_bytes(project: Path) -> None:
    before, entries = outs(project), stats(project)["entries"]
    lock = (project / "dvc.lock").read_bytes()
    dvc(project, "repro", "--force")
    after = stats(project)
    assert {stage: after["stages"][stage]["misses"] for stage in STAGES} == dict.fromkeys(STAGES, 0)
    assert after["entries"] == entries
    assert outs(project) == before
    assert (project / "dvc.lock").read_bytes() == lock


def test_a_failed_question_is_shown_and_retried(project: Path) -> None:
    """A failure written into an out makes ``retry`` force that stage, and the run heals it."""
    path = project / "data/answers/urban.jsonl"
    lines = path.read_text().splitlines()
    broken = json.loads(lines[0]) | {"failure": {"step": "verify", "reason": "the server hung up"}}
    path.unlink()  # it may be a link into DVC's cache, which must stay as it is
    path.write_text("\n".join([json.dumps(broken), *lines[1:]]) + "\n")
    done = run(project, sys.executable, "-m", "flows.cli.app", "retry")
    assert "again: answer@urban" in done.stderr
    assert path.read_text().splitlines() == lines
