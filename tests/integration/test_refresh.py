"""Refreshes on a schedule that fires every minute, against a real Prefect server."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from flows.refresh.periods import moment_of, seed_of
from flows.watch import server
from tests.integration.projects import ROOT, copy_project, dvc, run

pytestmark = pytest.mark.slow
LONGEST_S = 400.0
SMALL = {
    "benchmark.questions": 4,
    "benchmark.templates": 4,
    "metrics.bootstrap": 100,
    "metrics.random_seeds": 2,
    "metrics.further_centralities": [],
    "operations.prefect": "off",
    "operations.refresh": {"cron": "* * * * *", "missed": "latest"},
}


def git(project: Path, *arguments: str) -> str:
    return run(project, "git", *arguments).stdout.strip()


def git_project(folder: Path, **changes: Any) -> Path:
    """A small project in git, with a folder beside it as DVC's remote."""
    project = copy_project(folder, **changes)
    for name in (".gitignore", "data/.gitignore"):
        shutil.copy(ROOT / name, project / name)
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Somebody")
    git(project, "config", "user.email", "somebody@example.com")
    dvc(project, "init", "-q")
    dvc(project, "remote", "add", "-d", "store", "../remote")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Start")
    return project


class Served:
    """A project, its Prefect server, and the process that serves its refreshes."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.process: subprocess.Popen[bytes] | None = None
        self.log = project.parent / "serve.log"
        run(project, sys.executable, "-m", "flows.watch.server", "--background")
        until(lambda: "up" if self._up() else None)

    def start(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "flows.refresh.serve"],
                cwd=self.project,
                env={**kept, "PYTHONPATH": str(self.project), "OMP_NUM_THREADS": "1"},
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """kill -9 to it and to all that it started."""
        assert self.process is not None
        family = psutil.Process(self.process.pid).children(recursive=True)
        for one in (psutil.Process(self.process.pid), *family):
            try:
                one.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        self.process.wait()

    def api(self, path: str, **body: object) -> Any:
        url = json.loads((self.project / ".prefect/server.json").read_text())["url"]
        request = urllib.request.Request(
            f"{url}/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read())

    def runs(self, state: str) -> list[Any]:
        found: list[Any] = self.api("flow_runs/filter", sort="EXPECTED_START_TIME_ASC")
        return [one for one in found if one["state_name"] == state]

    def history(self) -> list[dict[str, str]]:
        text = run(self.project, "git", "show", "refresh:data/metrics/history.csv", check=False)
        return list(csv.DictReader(io.StringIO(text.stdout)))

    def change(self, **changes: Any) -> None:
        """Commit other parameters."""
        file = self.project / "params.yaml"
        params = yaml.safe_load(file.read_text())
        for dotted, value in changes.items():
            section, last = dotted.split(".")
            params[section][last] = value
        file.write_text(yaml.safe_dump(params, sort_keys=False))
        git(self.project, "commit", "-qam", f"Change {', '.join(changes)}")

    def _up(self) -> bool:
        try:
            self.api("flow_runs/filter")
        except OSError:
            return False
        return True


def until(found: Callable[[], Any], timeout_s: float = LONGEST_S) -> Any:
    """What ``found`` returns as soon as that is something."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {timeout_s} s in vain")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    before = {k: os.environ.pop(k) for k in list(os.environ) if k.startswith("PREFECT_")}
    project = git_project(tmp_path_factory.mktemp("refresh").resolve() / "project", **SMALL)
    one = Served(project)
    one.start()
    yield one
    one.kill()
    server.stop(project)
    os.environ.update(before)


def test_a_killed_refresh_is_gone_on_with(served: Served) -> None:
    """The schedule fires, everything is killed while the stages work, and another serves on."""
    note = served.project / ".cache/refresh/unfinished.json"
    work = served.project / ".cache/refresh/work"
    until((work / "data/answers/urban.jsonl").is_file)
    killed = json.loads(note.read_text())["period"]
    served.kill()
    assert served.history() == []
    served.start()
    rows = until(served.history)
    assert (rows[0]["period"], rows[0]["status"]) == (killed, "completed")
    assert f"making up {killed}" in served.log.read_text()
    assert rows[0]["seed"] == str(seed_of(killed, 20261))
    shown = yaml.safe_load(git(served.project, "show", "refresh:params.yaml"))
    assert shown["benchmark"]["seed"] >= 0
    assert git(served.project, "status", "--porcelain") == ""
    assert any((served.project.parent / "remote").rglob("*"))


def test_the_schedule_fires_and_the_next_period_asks_other_questions(served: Served) -> None:
    rows = until(lambda: len(served.history()) > 1 and served.history())
    first, second = rows[:2]
    assert moment_of(first["period"]) < moment_of(second["period"])
    assert first["seed"] != second["seed"]
    assert (second["status"], second["compared_with"]) == ("completed", first["period"])
    done = until(lambda: [r for r in served.runs("Completed") if r["auto_scheduled"]])
    assert all(r["state_type"] == "COMPLETED" for r in done)
    texts = [a["data"] for a in served.api("artifacts/filter") if a["key"] == "refresh"]
    assert any("dvc metrics diff" in text and "independent" in text for text in texts)


def test_a_significant_drop_fails_in_a_state_of_its_own(served: Served) -> None:
    served.change(**{"answer.samples": 1, "answer.max_claims": 1})
    (regressed, *_) = until(lambda: served.runs("Regressed"))
    assert regressed["state_type"] == "FAILED"
    assert "informativeness fell from" in regressed["state"]["message"]
    row = next(row for row in served.history() if row["status"] == "regressed")
    assert "informativeness" in row["drops"].split()
    wanted = {"event": {"name": ["prefect.flow-run.Regressed"]}}
    events = until(lambda: served.api("events/filter", filter=wanted)["events"], 60)
    assert events  # what an automation's trigger matches


def test_a_budget_that_does_not_do_is_named(served: Served) -> None:
    paid = {"provider": "openai", "model": "gpt-5-mini"}
    served.change(**{"llm.answer": paid})
    (stopped, *_) = until(lambda: served.runs("OutOfBudget"))
    assert stopped["state_type"] == "FAILED"
    assert "budget" in stopped["state"]["message"]
    assert served.history()[-1]["status"] == "out_of_budget"


def test_refreshes_never_overlap(served: Served) -> None:
    """Of runs that worked, none began before the one before it had ended."""
    names = ("Completed", "Regressed", "OutOfBudget")
    runs = [r for name in names for r in served.runs(name) if r["end_time"]]
    spans = sorted((r["start_time"], r["end_time"]) for r in runs)
    assert len(spans) > 2
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
