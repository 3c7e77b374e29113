"""A stage's body under a real Prefect server, and what happens when that server goes away."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.watch import server
from flows.watch.tracking import Tracker, tracked
from simulrag.errors import InputError
from tests.integration.prefect_api import ask

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project folder whose server is up."""
    folder = tmp_path_factory.mktemp("tracking").resolve()
    before = {k: v for k, v in os.environ.items() if k.startswith("PREFECT_")}
    for name in before:
        del os.environ[name]
    server.start(folder, free_port())
    yield folder
    server.stop(folder)
    for name in [k for k in os.environ if k.startswith("PREFECT_")]:
        del os.environ[name]
    os.environ.update(before)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_flow_runs_and_tasks_are_named_for_the_reader(root: Path) -> None:
    async def body(tracker: Tracker) -> int:
        async def work() -> int:
            return 20

        total = await tracker.step("verify 1-50", work) + await tracker.step("verify 51-60", work)
        await tracker.markdown("answer-urban", "## answer urban")
        return total

    result = asyncio.run(tracked("answer", "answer-urban-60q", ["domain:urban"], body, root))
    assert result == 40
    (run,) = ask(root, "flow_runs/filter")
    assert (run["name"], run["tags"], run["state_type"]) == (
        "answer-urban-60q",
        ["domain:urban"],
        "COMPLETED",
    )
    expected, found = {"verify 1-50", "verify 51-60"}, set()
    deadline = time.monotonic() + 30  # task runs are events, which the server records on its own
    while found != expected and time.monotonic() < deadline:
        found = {t["name"] for t in ask(root, "task_runs/filter")}
    assert found == expected
    assert [a["data"] for a in ask(root, "artifacts/filter")] == ["## answer urban"]


def test_an_error_of_the_work_stays_that_error(root: Path) -> None:
    async def body(tracker: Tracker) -> None:
        async def work() -> None:
            raise InputError("a wrong question")

        await tracker.step("retrieve 1-1", work)

    with pytest.raises(InputError, match="a wrong question"):
        asyncio.run(tracked("answer", "answer-bad", [], body, root))


def test_a_server_that_goes_away_loses_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The body goes on without Prefect and nothing in it runs twice."""
    done: list[str] = []

    async def body(tracker: Tracker) -> str:
        async def work() -> None:
            done.append("first")
            assert server.stop(root)

        async def more() -> None:
            done.append("second")

        await tracker.step("first", work)
        await tracker.step("second", more)
        return "result"

    assert asyncio.run(tracked("answer", "answer-lost", [], body, root)) == "result"
    assert done == ["first", "second"]
    assert "Prefect" in capsys.readouterr().err
    del os.environ["PREFECT_API_URL"]
    assert server.find(root) is None
