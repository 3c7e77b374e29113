"""What a watched run listens on and connects to: this machine's loopback, and nothing else.

Python's audit events tell of every connection and look-up of every process; the kernel's own table
tells what the server listens on and holds open, whoever opened it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from tests.integration.projects import ROOT, SIMULRAG, copy_project

pytestmark = pytest.mark.slow
LISTENING_IN = ROOT / "tests/servers/listening_in"


class Watched:
    """A project, its server of ``simulrag ui`` on a port of its own, and what they connect to."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.noted = project.parent / "connections"
        # As a user's shell: nothing that keeps Prefect or DVC from speaking to their makers.
        quiet = ("PREFECT_", "DVC_", "DO_NOT_TRACK", "CI")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(quiet)}
        self.environment |= {
            "PYTHONPATH": os.pathsep.join((str(LISTENING_IN), str(project))),
            "LISTENING_IN": str(self.noted),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.ui = self.simulrag("ui", "--port", str(self.port))
        state = json.loads((project / ".prefect/server.json").read_text())
        self.pid: int = state["pid"]

    def simulrag(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of ours in the project."""
        return subprocess.run(
            [*SIMULRAG, *arguments],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def events(self) -> list[tuple[str, str, list[str]]]:
        """(what, with whom, the process's first arguments), in order."""
        return [tuple(json.loads(line)) for line in self.noted.read_text().splitlines()]

    def open_sockets(self) -> Iterator[tuple[str, str, int]]:
        """(status, the address that matters, port) of the server's processes."""
        main = psutil.Process(self.pid)
        for process in (main, *main.children(recursive=True)):
            for one in process.net_connections(kind="inet"):
                address = one.raddr or one.laddr
                yield one.status, address.ip, address.port

    def reply(self, method: str, path: str, **headers: str) -> tuple[int, str | None]:
        """The status of an answer, and whose pages may read it."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, headers=headers)
            found = connection.getresponse()
            return found.status, found.headers["Access-Control-Allow-Origin"]
        finally:
            connection.close()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("outside") / "project"
    one = Watched(copy_project(folder, **{"operations.prefect": "auto"}))
    yield one
    assert one.simulrag("ui", "--stop").returncode == 0


def test_a_watched_stage_speaks_to_loopback_only(watched: Watched) -> None:
    done = watched.simulrag("stage", "benchmark", "--domain", "urban")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Prefect" not in done.stderr
    events = watched.events()
    server = [said for said in events if "server" in said[2]]
    stage = [said for said in events if "stage" in said[2]]
    assert server
    assert ("socket.connect", "127.0.0.1") in {said[:2] for said in stage}
    assert [said for said in events if not _is_here(said[1])] == []


def test_the_server_listens_on_loopback_only(watched: Watched) -> None:
    found = set(watched.open_sockets())
    assert ("LISTEN", "127.0.0.1", watched.port) in found
    assert [one for one in found if not ip_address(one[1]).is_loopback] == []


def test_a_page_of_another_site_reads_and_changes_nothing(watched: Watched) -> None:
    own = f"http://127.0.0.1:{watched.port}"
    assert watched.reply("GET", "/api/health", Origin=own) == (200, own)
    for origin in ("http://e.org", f"http://e.org:{watched.port}", "http://127.0.0.1:1", "null"):
        assert watched.reply("GET", "/api/health", Origin=origin) == (200, None)  # not for it
    assert watched.reply("POST", "/api/flow_runs/filter")[0] == 403


def test_it_says_its_address_and_nothing_else(watched: Watched) -> None:
    assert watched.ui.returncode == 0, watched.ui.stderr
    assert f"http://127.0.0.1:{watched.port}" in watched.ui.stdout
    assert len(watched.ui.stdout.splitlines()) == 1


def _is_here(host: str) -> bool:
    """A loopback address, a socket that is a file, or a look-up of no host."""
    if host in ("unix", "localhost", "None"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
