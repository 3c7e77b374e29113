"""A refresh: new questions in a period, a branch with what they gave, and what moved since."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.params import load_params
from flows.params_file import changed
from flows.project import Project
from flows.refresh.lock import locked
from flows.refresh.periods import last_fire, name_of, seed_of
from flows.refresh.refresh import pasts
from simulrag.testing.loopback import LoopbackServer, says, stand_in
from tests.integration.prefect_api import ask, free_port
from tests.integration.projects import (
    SIMULRAG,
    change_params,
    copy_project,
    environment_of,
    git,
    git_project,
    simulrag,
    stub_roles,
)

pytestmark = pytest.mark.slow
FIRST, SECOND, THIRD = "2026-11-02T0300Z", "2026-11-09T0300Z", "2026-11-16T0300Z"


@pytest.fixture(scope="module")
def model() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as running:
        yield running


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, model: LoopbackServer) -> Path:
    """A small project in git, whose models are on this machine."""
    folder = copy_project(
        tmp_path_factory.mktemp("refresh").resolve() / "project",
        **{
            "benchmark.questions": 4,
            "benchmark.templates": 2,
            "answer.verbalized": False,
            "answer.beside": [],
            "metrics.bootstrap": 100,
            "metrics.selection_seeds": 2,
            "metrics.further_centralities": [],
        },
    )
    params = folder / "params.yaml"
    text = changed(params, stub_roles(model.url))  # in braces, as users have it
    assert f'base_url: "{model.url}"' in text
    params.write_text(text, encoding="utf-8")
    git_project(folder)
    return folder


def history(project: Path, period: str) -> list[dict[str, str]]:
    text = git(project, "show", f"refresh-{period}:data/metrics/history.csv")
    return list(csv.DictReader(io.StringIO(text)))


def test_a_period_is_a_branch_with_its_own_questions(project: Path, model: LoopbackServer) -> None:
    nobody = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    git(project, "config", "--remove-section", "user")
    done = simulrag(project, "refresh", "--period", FIRST, check=True, **nobody)
    git(project, "config", "user.name", "Somebody")
    git(project, "config", "user.email", "somebody@example.com")
    page = f"reports/{FIRST}/index.html"
    assert f"refresh {FIRST}: completed (branch refresh-{FIRST}, report {page})" in done.stdout
    assert "</html>" in (project / page).read_text(encoding="utf-8")
    made = len(model.requests)
    assert made > 0
    (row,) = history(project, FIRST)
    shown = git(project, "show", f"refresh-{FIRST}:data/metrics/refresh.md")
    assert f"| factuality | {row['factuality']} |" in shown, "the first period shows its metrics"
    assert row["factuality"]
    assert (row["domain"], row["seed"]) == ("urban", str(seed_of(FIRST, 20261)))
    shown = git(project, "show", f"refresh-{FIRST}:params.yaml")
    assert f"seed: {seed_of(FIRST, 20261)}" in shown
    assert "cache: .cache/calls" in shown  # no path of this machine
    assert git(project, "status", "--porcelain") == ""
    assert any((project.parent / "store").rglob("*"))
    assert git(project, "log", "-1", "--format=%an", f"refresh-{FIRST}") == "SimulRAG refresh"
    commit = git(project, "rev-parse", f"refresh-{FIRST}")
    skipped = simulrag(project, "refresh", "--period", FIRST, check=True)
    assert f"period {FIRST} is done already: completed (branch refresh-{FIRST})" in skipped.stdout
    assert "--again" in skipped.stdout
    assert git(project, "rev-parse", f"refresh-{FIRST}") == commit
    simulrag(project, "refresh", "--period", FIRST, "--again", check=True)
    assert git(project, "rev-parse", f"refresh-{FIRST}") != commit
    assert len(model.requests) == made, "a second run of the same period made a call"


def test_the_next_period_is_compared_with_it(project: Path) -> None:
    assert not (project / f"reports/{FIRST}/figures/history-urban.svg").exists()
    simulrag(project, "refresh", "--period", SECOND, check=True)
    drawn = (project / f"reports/{SECOND}/figures/history-urban.svg").read_text(encoding="utf-8")
    assert f"{FIRST}: " in drawn
    assert f"{SECOND}: " in drawn
    assert "The refreshes so far" in (project / f"reports/{SECOND}/index.html").read_text()
    first, second = history(project, SECOND)
    assert first["seed"] != second["seed"]
    assert second["compared_with"] == FIRST
    page = git(project, "show", f"refresh-{SECOND}:data/metrics/refresh.md")
    assert "dvc metrics diff" in page
    assert "## The periods so far, the newest last" in page
    assert "independent" in page
    assert "| urban | factuality |" in page


def test_a_refused_benchmarks_reply_can_be_read_afterwards(
    project: Project, model: LoopbackServer
) -> None:
    before = (project / "params.yaml").read_text()
    change_params(project, **{"benchmark.templates": 3})  # another call than that which is stored
    written = json.loads(stand_in()(model.requests[0].body))
    for one in written["templates"]:
        one["runs"][0]["tool"] = "fly_" * 200
    model.script(says(json.dumps(written)), says(json.dumps(written)))
    done = simulrag(project, "refresh", "--period", THIRD)
    (project / "params.yaml").write_text(before)
    assert done.returncode == 1
    kept = project / ".cache/benchmark-urban-reply.txt"
    assert f"(all of it: {kept})" in done.stderr.splitlines()[-1]
    assert "fly_fly" in kept.read_text(encoding="utf-8")


def test_a_budget_that_does_not_do_is_named(project: Path) -> None:
    paid = {"provider": "openai", "model": "gpt-5-mini", "base_url": None, "paid": True}
    before = (project / "params.yaml").read_text()
    change_params(project, **{"llm.judge": paid})
    done = simulrag(project, "refresh", "--period", THIRD, OPENAI_API_KEY="sk-none")
    (project / "params.yaml").write_text(before)
    assert done.returncode == 1
    assert f"refresh {THIRD}: out_of_budget" in done.stdout
    assert "branch" not in done.stdout, "it made none"
    assert "budget" in done.stderr
    params = load_params(Project(project).params)
    assert THIRD not in [past.period for past in pasts(Project(project), params)]


def test_one_process_serves_and_ends_on_sigterm_in_a_line(
    project: Path, model: LoopbackServer
) -> None:
    before = (project / "params.yaml").read_text()
    schedule = load_params(Project(project).params).operations.refresh
    period = name_of(last_fire(schedule, datetime.now(UTC)))
    port, text = free_port(), project.parent / "served.txt"
    serving = None
    try:
        with locked(Project(project), period, "this test"):
            busy = f"period {period} is being made by process {os.getpid()}"
            by_hand = simulrag(project, "refresh", "--period", period)
            assert (by_hand.returncode, by_hand.stderr) == (1, f"error: {busy}\n")
            serving = serve(project, port)
            until(lambda: "serving refresh" in text.read_text())
        assert busy in text.read_text()
        second = simulrag(project, "serve", "--port", port)
        assert second.returncode == 1
        assert second.stderr == (
            f"error: the project is served already, by process {serving.pid}\n"
        )
        serving.send_signal(signal.SIGTERM)
        assert serving.wait() == 0
        minutely = {"cron": "* * * * *"}
        change_params(project, **{"operations.refresh": minutely, "operations.prefect": "auto"})
        made = len(model.requests)
        serving = serve(project, port)
        until(lambda: len(model.requests) > made)
        serving.send_signal(signal.SIGTERM)
        assert serving.wait() == 0
        assert text.read_text().splitlines()[-1].startswith("ended; every finished call is kept")
        assert "Traceback" not in text.read_text()
    finally:
        if serving is not None and serving.poll() is None:
            kill(serving)
        (project / "params.yaml").write_text(before)
        simulrag(project, "ui", "--stop")


def test_served_refreshes_are_flow_runs_and_after_a_kill_the_latest_is_made_up(
    project: Path, model: LoopbackServer
) -> None:
    """The schedule fires each minute; everything is killed at work, and the next serves on."""
    before = (project / "params.yaml").read_text()
    minutely = {"cron": "* * * * *"}
    change_params(project, **{"operations.refresh": minutely, "operations.prefect": "auto"})
    branches = git(project, "branch", "--list")
    port = free_port()
    made = len(model.requests)
    serving = serve(project, port)
    try:
        until(lambda: len(model.requests) > made)
        kill(serving)
        assert git(project, "branch", "--list") == branches
        serving = serve(project, port)
        assert "making up" in until((project.parent / "served.txt").read_text)
        (shown, *_) = until(
            lambda: [one for one in ask(project, "artifacts/filter") if one["key"] == "refresh"]
        )
        (project / "params.yaml").write_text(before)
        period = shown["data"].partition("# Refresh ")[2].partition(":")[0]
        report = project / "reports" / period / "index.html"
        assert str(report) in shown["data"]
        assert "</html>" in report.read_text(encoding="utf-8")
        assert f"refresh-{period}" in git(project, "branch", "--list")
        run = shown["flow_run_id"]
        (ended,) = until(
            lambda: [
                one
                for one in ask(project, "flow_runs/filter", flow_runs={"id": {"any_": [run]}})
                if one["state_type"] in ("COMPLETED", "FAILED")
            ]
        )
        assert ended["state_name"] in ("Completed", "Regressed")
        assert ended["name"].startswith("refresh-2")
        stages = ask(project, "flow_runs/filter", flow_runs={"parent_flow_run_id": {"any_": [run]}})
        stages = [one for one in stages if f"period:{period}" in one["tags"]]
        assert {one["name"] for one in stages} >= {"answer-urban", "label-urban", "report"}
        assert "> simulrag stage report" in said(project, run)
        (answer,) = [one["id"] for one in stages if one["name"] == "answer-urban"]
        assert "## answer urban" in said(project, answer)
        assert "temporary server" not in (project.parent / "served.txt").read_text()
    finally:
        kill(serving)
        simulrag(project, "ui", "--stop")


def test_the_server_that_the_environment_names_is_used(project: Path) -> None:
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    elsewhere = str(project.parent / "elsewhere")
    try:
        refused = simulrag(project, "serve", PREFECT_API_URL=api)
        assert refused.returncode == 1
        assert f"no server answers at PREFECT_API_URL ({api})" in refused.stderr
        simulrag(project, "ui", "--port", port, check=True, PREFECT_HOME=elsewhere)
        serving = serve(project, free_port(), PREFECT_API_URL=api)
        try:
            text = project.parent / "served.txt"
            until(lambda: f"UI: http://127.0.0.1:{port}\n" in text.read_text())
        finally:
            kill(serving)
    finally:
        simulrag(project, "ui", "--stop", PREFECT_HOME=elsewhere)
    assert not (project / ".prefect/server.json").exists(), "none of its own was started"


def said(project: Path, run: str) -> str:
    """The log of a flow run."""
    logs = ask(project, "logs/filter", logs={"flow_run_id": {"any_": [run]}})
    return "\n".join(log["message"] for log in logs)


def serve(project: Path, port: str, **environment: str) -> subprocess.Popen[bytes]:
    with (project.parent / "served.txt").open("wb") as text:
        return subprocess.Popen(
            [*SIMULRAG, "serve", "--port", port],
            cwd=project,
            env=environment_of(project, **environment),
            stdout=text,
            stderr=text,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9 to it and to all that it started, the Prefect server aside."""
    family = psutil.Process(process.pid).children(recursive=True)
    server = [one for one in family if "prefect server start" in " ".join(one.cmdline())]
    for one in (psutil.Process(process.pid), *family):
        if one not in server:
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    process.wait()


def until(found: object, timeout_s: float = 400) -> Any:
    """What ``found`` returns as soon as that is something."""
    assert callable(found)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {timeout_s} s in vain")
