"""A stage's body under a real Prefect server, and what happens when that server goes away."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.watch import server
from flows.watch.tracking import Tracker, tracked
from simulrag.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project folder whose shared server is up."""
    folder = tmp_path_factory.mktemp("tracking").resolve()
    before = {k: v for k, v in os.environ.items() if k.startswith("PREFECT_")}
    for name in before:
        del os.environ[name]
    server.configure(folder)
    server.begin(folder)
    server.wait(folder)
    yield folder
    server.stop(folder)
    for name in [k for k in os.environ if k.startswith("PREFECT_")]:
        del os.environ[name]
    os.environ.update(before)


def api(root: Path, path: str) -> Any:
    url = json.loads((root / ".prefect/server.json").read_text())["url"]
    request = urllib.request.Request(
        f"{url}/{path}", data=b"{}", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.loads(reply.read())


def test_flow_runs_and_tasks_are_named_for_the_reader(root: Path) -> None:
    async def body(tracker: Tracker) -> int:
        async def work() -> int:
            return 20

        total = await tracker.step("verify 1-50", work) + await tracker.step("verify 51-60", work)
        await tracker.markdown("answer-urban", "## answer urban")
        return total

    result = asyncio.run(tracked("answer", "answer-urban-60q", ["domain:urban"], body, root))
    assert result == 40
    (run,) = api(root, "flow_runs/filter")
    assert (run["name"], run["tags"], run["state_type"]) == (
        "answer-urban-60q",
        ["domain:urban"],
        "COMPLETED",
    )
    expected, found = {"verify 1-50", "verify 51-60"}, set()
    deadline = time.monotonic() + 30  # task runs are events, which the server records on its own
    while found != expected and time.monotonic() < deadline:
        found = {t["name"] for t in api(root, "task_runs/filter")}
    assert found == expected
    assert [a["data"] for a in api(root, "artifacts/filter")] == ["## answer urban"]


def test_an_error_of_the_work_stays_that_error(root: Path) -> None:
    async def body(tracker: Tracker) -> None:
        async def work() -> None:
            raise InputError("a wrong question")

        await tracker.step("retrieve 1-1", work)

    with pytest.raises(InputError, match="a wrong question"):
        asyncio.run(tracked("answer", "answer-bad", [], body, root))


def test_the_server_is_shared_and_on_loopback(root: Path) -> None:
    state = json.loads((root / ".prefect/server.json").read_text())
    assert state["url"].startswith("http://127.0.0.1:")
    server.begin(root)
    assert json.loads((root / ".prefect/server.json").read_text()) == state


def test_a_server_that_goes_away_loses_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The body goes on without Prefect and nothing in it runs twice."""
    done: list[str] = []

    async def body(tracker: Tracker) -> str:
        async def work() -> None:
            done.append("first")
            server.stop(root)

        async def more() -> None:
            done.append("second")

        await tracker.step("first", work)
        await tracker.step("second", more)
        return "result"

    assert asyncio.run(tracked("answer", "answer-lost", [], body, root)) == "result"
    assert done == ["first", "second"]
    assert "Prefect" in capsys.readouterr().err
    server.begin(root)
    assert server.wait(root).startswith("http://127.0.0.1:")  # and the next stage starts another


def test_an_old_state_file_kills_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart of the machine the pid in server.json may be anybody's."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    state = {"url": "http://127.0.0.1:9/api", "pid": bystander.pid}
    (tmp_path / "server.json").write_text(json.dumps(state))
    server.stop(tmp_path)
    assert bystander.poll() is None
    bystander.kill()
