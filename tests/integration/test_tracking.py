"""Stages that Prefect watches; the cases of ``tracking_cases`` in a process of their own.

Prefect reads its settings once, when it is imported, and in this process a test of another file may
have imported it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.prefect_api import ask
from tests.integration.projects import change_params, copy_finished, dvc, run, simulrag
from tests.integration.tracking_cases import free_port
from tests.servers.postgres import PASSWORD, PostgresProgram, needs_postgres

pytestmark = pytest.mark.slow
CASES = Path(__file__).with_name("tracking_cases.py")


def test_the_cases_in_a_process_of_their_own() -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", str(CASES)],
        cwd=CASES.parents[2],
        env=kept,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_a_stage_of_dvc_is_one_flow_run_with_its_steps(finished: Path, tmp_path: Path) -> None:
    project = copy_finished(finished, tmp_path / "project", **{"operations.prefect": "auto"})
    dvc(project, "init", "--no-scm", "--quiet")
    simulrag(project, "ui", "--port", str(free_port()), check=True)
    try:
        done = run(project, sys.executable, "-m", "dvc", "repro", "--force", "-s", "answer@urban")
        assert "Prefect" not in done.stderr
        (flow_run,) = ask(project, "flow_runs/filter")
        assert (flow_run["name"], flow_run["state_type"]) == ("answer-urban", "COMPLETED")
        names: set[str] = set()
        deadline = time.monotonic() + 30
        while len(names) < 2 and time.monotonic() < deadline:
            tasks = ask(project, "task_runs/filter")
            names = {t["name"] for t in tasks if t["flow_run_id"] == flow_run["id"]}
        assert names == {"draft 1-15", "conclude 1-15"}
        tables = [a for a in ask(project, "artifacts/filter") if a["type"] == "table"]
        assert [table["key"] for table in tables] == ["answer-urban-cost"]
    finally:
        stopped = simulrag(project, "ui", "--stop")
    assert "stopped" in stopped.stdout
    change_params(project, **{"operations.prefect": "off"})


def test_a_run_is_recorded_in_postgres(finished: Path, tmp_path: Path) -> None:
    """Prefect's server on Postgres in place of SQLite, by its own setting."""
    needs_postgres()
    project = copy_finished(finished, tmp_path / "project", **{"operations.prefect": "auto"})
    with PostgresProgram() as program:
        setting = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": program.url}
        simulrag(project, "ui", "--port", str(free_port()), check=True, **setting)
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
