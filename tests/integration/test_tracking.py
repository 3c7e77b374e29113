"""Stages that Prefect watches."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.integration.prefect_api import ask, free_port
from tests.integration.projects import copy_finished, dvc, run, simulrag
from tests.servers.postgres import PASSWORD, PostgresProgram, needs_postgres

pytestmark = pytest.mark.slow


def test_a_stage_of_dvc_is_one_flow_run_with_its_steps(finished: Path, tmp_path: Path) -> None:
    project = copy_finished(finished, tmp_path / "project", **{"operations.prefect": "auto"})
    dvc(project, "init", "--no-scm", "--quiet")
    simulrag(project, "ui", "--port", free_port(), check=True)
    try:
        done = run(project, sys.executable, "-m", "dvc", "repro", "--force", "-s", "answer@urban")
        assert "Prefect" not in done.stderr
        (flow_run,) = ask(project, "flow_runs/filter")
        assert (flow_run["name"], flow_run["state_type"]) == ("answer-urban", "COMPLETED")
        assert {"domain:urban", "model:claude"} <= set(flow_run["tags"])
        names: set[str] = set()
        deadline = time.monotonic() + 30
        while len(names) < 2 and time.monotonic() < deadline:
            tasks = ask(project, "task_runs/filter")
            names = {t["name"] for t in tasks if t["flow_run_id"] == flow_run["id"]}
        assert names == {"draft 1-15", "conclude 1-15"}
        assert all(found["description"] for found in ask(project, "artifacts/filter"))
        shown = {found["type"]: found["key"] for found in ask(project, "artifacts/filter")}
        assert (shown["table"], shown["markdown"]) == ("answer-urban-cost", "answer-urban")
        (project / "data/benchmark/urban.jsonl").unlink()
        wrong = simulrag(project, "stage", "answer", "--domain", "urban")
        assert wrong.returncode == 2, "an error of the work stays that error"
        assert "benchmark/urban.jsonl" in wrong.stderr.splitlines()[-1]
        logs = ask(project, "logs/filter", logs={"level": {"ge_": 40}})
        assert ["benchmark/urban.jsonl" in log["message"] for log in logs] == [True]
    finally:
        stopped = simulrag(project, "ui", "--stop")
    assert "stopped" in stopped.stdout


def test_a_run_is_recorded_in_postgres(finished: Path, tmp_path: Path) -> None:
    """Prefect's server on Postgres in place of SQLite, by its own setting."""
    needs_postgres()
    project = copy_finished(finished, tmp_path / "project", **{"operations.prefect": "auto"})
    with PostgresProgram() as program:
        setting = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": program.url}
        simulrag(project, "ui", "--port", free_port(), check=True, **setting)
        try:
            done = simulrag(project, "stage", "benchmark", "--domain", "urban", check=True)
            runs = program.query("select name, state_type from flow_run")
            kinds = program.query("select type from artifact where key = 'benchmark-urban-cost'")
        finally:
            simulrag(project, "ui", "--stop")
    assert "Prefect" not in done.stderr
    assert runs == [["benchmark-urban", "COMPLETED"]]
    assert kinds == [["table"]]
    written = [path for path in (project / ".prefect").rglob("*") if path.is_file()]
    assert not [path for path in written if path.suffix == ".db"]
    assert all(PASSWORD.encode() not in path.read_bytes() for path in written)
