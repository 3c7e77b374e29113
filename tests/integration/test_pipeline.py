"""``dvc repro`` on SUMO with the offline rules: nothing twice, the same bytes every time."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from flows.watch import server
from tests.integration.projects import copy_project, dvc, outs, run, stats

pytestmark = pytest.mark.slow
STAGES = ("benchmark-urban", "answer-urban", "label-urban")
SMALL = {
    "benchmark.questions": 6,
    "benchmark.templates": 6,
    "metrics.bootstrap": 100,
    "metrics.random_seeds": 5,
    "operations.run_log": "runs.jsonl",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = copy_project(tmp_path_factory.mktemp("pipeline") / "project", **SMALL)
    dvc(folder, "init", "--no-scm", "--quiet")
    dvc(folder, "repro")
    yield folder
    server.stop(folder)


def simulator_runs(project: Path) -> int:
    return len((project / "runs.jsonl").read_text().splitlines())


def test_the_first_run_makes_everything(project: Path) -> None:
    assert (project / "data/report/index.html").is_file()
    answers = (project / "data/answers/urban.jsonl").read_text().splitlines()
    assert len(answers) == 6
    assert all(json.loads(line)["failure"] is None for line in answers)
    assert simulator_runs(project) > 1
    seen = stats(project)
    assert all(seen["stages"][stage]["misses"] > 0 for stage in STAGES)
    shown = dvc(project, "metrics", "show")
    assert "urban.json" in shown
    assert max(map(len, shown.splitlines())) <= 220


def test_other_budgets_measure_again_and_call_nothing(project: Path) -> None:
    before = stats(project)
    text = (project / "params.yaml").read_text()
    values = yaml.safe_load(text)
    values["metrics"]["budgets_percent"] = [20, 40]
    (project / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    said = dvc(project, "repro")
    for stage in ("benchmark@urban", "answer@urban", "label@urban"):
        assert f"Stage '{stage}' didn't change, skipping" in said
    assert "Running stage 'metrics'" in said
    assert "Running stage 'report'" in said
    assert stats(project) == before
    (project / "params.yaml").write_text(text)
    dvc(project, "repro")


def test_prefect_watched(project: Path) -> None:
    url = json.loads((project / ".prefect/server.json").read_text())["url"]
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/flow_runs/filter", data=b"{}", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        names = {one["name"] for one in json.loads(reply.read())}
    assert {"benchmark-urban-6q", "answer-urban-6q", "label-urban-6q"} < names


def test_nothing_changed_runs_nothing(project: Path) -> None:
    said = dvc(project, "repro")
    for stage in ("benchmark@urban", "answer@urban", "label@urban", "metrics", "report"):
        assert f"Stage '{stage}' didn't change, skipping" in said


def test_forced_it_pays_for_nothing_and_gives_the_same_bytes(project: Path) -> None:
    before, runs, entries = outs(project), simulator_runs(project), stats(project)["entries"]
    lock = (project / "dvc.lock").read_bytes()
    dvc(project, "repro", "--force")
    after = stats(project)
    assert {stage: after["stages"][stage]["misses"] for stage in STAGES} == dict.fromkeys(STAGES, 0)
    assert all(after["stages"][stage]["hits"] > 0 for stage in STAGES)
    assert (simulator_runs(project), after["entries"]) == (runs, entries)
    assert outs(project) == before
    assert (project / "dvc.lock").read_bytes() == lock


def test_another_clone_with_empty_caches_gives_the_same_lock(project: Path, tmp_path: Path) -> None:
    other = copy_project(tmp_path / "other", **SMALL, **{"operations.prefect": "off"})
    dvc(other, "init", "--no-scm", "--quiet")
    dvc(other, "repro")
    assert (other / "dvc.lock").read_text() == (project / "dvc.lock").read_text()
    assert not (other / ".prefect").exists()


def test_a_failed_question_is_shown_and_retried(project: Path) -> None:
    """A failure written into an out makes ``retry`` force that stage, and the run heals it."""
    path = project / "data/answers/urban.jsonl"
    lines = path.read_text().splitlines()
    broken = json.loads(lines[0]) | {"failure": {"step": "verify", "reason": "the server hung up"}}
    path.unlink()  # it is a link into DVC's cache, which must stay as it is
    path.write_text("\n".join([json.dumps(broken), *lines[1:]]) + "\n")
    done = run(project, sys.executable, "-m", "flows.cli.app", "retry")
    assert "again: answer@urban" in done.stderr
    healed = path.read_text().splitlines()
    assert healed == lines
