"""Prefect's server on Postgres in place of SQLite, by its own setting."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flows.watch import server
from tests.integration.projects import copy_project, dvc, run
from tests.servers.postgres import PASSWORD, PostgresProgram, needs_postgres

pytestmark = pytest.mark.slow


def test_a_run_is_recorded_in_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_postgres()
    monkeypatch.delenv("PREFECT_HOME", raising=False)
    small = {"benchmark.questions": 2, "benchmark.templates": 2}
    project = copy_project(tmp_path / "project", **small)
    dvc(project, "init", "--no-scm", "--quiet")
    with PostgresProgram() as program:
        setting = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": program.url}
        try:
            run(project, sys.executable, "-m", "flows.watch.server", "--background", **setting)
            repro = (sys.executable, "-m", "dvc", "repro", "benchmark@urban")
            done = run(project, *repro, **setting)
            runs = program.query("select name, state_type from flow_run")
            kinds = program.query("select type from artifact where key = 'benchmark-urban-cost'")
        finally:
            server.stop(project)
    assert "Prefect" not in done.stderr
    assert runs == [["benchmark-urban-2q", "COMPLETED"]]
    assert kinds == [["table"]]
    written = [path for path in (project / ".prefect").rglob("*") if path.is_file()]
    assert not [path for path in written if path.suffix == ".db"]
    assert all(PASSWORD.encode() not in path.read_bytes() for path in written)
