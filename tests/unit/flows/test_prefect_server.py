"""Where stages look for Prefect, and which process is its server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flows.watch import server


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PREFECT_API_URL", "PREFECT_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_server_prefect_is_not_imported(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys, pathlib\n"
        "from flows.watch.tracking import tracked\n"
        "async def body(tracker):\n"
        "    async def work(): return 7\n"
        "    return await tracker.step('draft 1-1', work)\n"
        f"root = pathlib.Path({str(tmp_path)!r})\n"
        "print(asyncio.run(tracked('answer', 'answer', [], body, root)), 'prefect' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", "False"]


def test_the_users_api_goes_before_the_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.find(tmp_path) is None
    assert not (tmp_path / ".prefect").exists()  # a look makes nothing
    (tmp_path / ".prefect").mkdir()
    with (
        socket.create_server(("127.0.0.1", 0)) as mine,
        socket.create_server(("127.0.0.1", 0)) as own,
    ):
        urls = [f"http://127.0.0.1:{one.getsockname()[1]}/api" for one in (mine, own)]
        (tmp_path / ".prefect/server.json").write_text(json.dumps({"url": urls[1], "pid": 1}))
        assert server.find(tmp_path) == urls[1]
        monkeypatch.setenv("PREFECT_API_URL", urls[0])
        assert server.find(tmp_path) == urls[0]
    assert server.find(tmp_path) is None


def test_a_process_that_is_not_the_server_is_not_ended(tmp_path: Path) -> None:
    """The server died, its port is another's and so may its pid be: here this test's own."""
    (tmp_path / ".prefect").mkdir()
    silent = {"url": "http://127.0.0.1:9/api", "pid": os.getpid()}
    (tmp_path / ".prefect/server.json").write_text(json.dumps(silent))
    assert not server.stop(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}/api"
        state = {"url": url, "pid": os.getpid()}
        (tmp_path / ".prefect/server.json").write_text(json.dumps(state))
        assert not server.stop(tmp_path)


def test_an_address_with_an_odd_port_is_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:port/api")
    assert server.find(tmp_path) is None
