"""What a service that is called may not do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulators.remote.errors import ReplyInvalid, ServiceTimeout
from simulators.remote.fetch import Fetcher
from simulators.remote.mcp import McpSimulator
from simulators.remote.service import Limits


@contextmanager
def dripping(first: bytes, then: bytes) -> Iterator[str]:
    """A server that says ``first`` at once and ``then`` again and again, ten times a second."""
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(first)
            while not over.wait(0.1):
                try:
                    connection.sendall(then)
                except OSError:
                    return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        over.set()
        thread.join()
        listening.close()


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        (b"HTTP/1.1 200 OK\r\n", b"X: a\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", b"a"),
    ],
)
def test_what_drips_is_late(first: bytes, then: bytes) -> None:
    began = time.monotonic()
    with dripping(first, then) as url, pytest.raises(ServiceTimeout, match=r"within 0\.5 s"):
        Fetcher(Limits(0.5, 1.0), 3, None).send("GET", url)
    assert time.monotonic() - began < 5


def mcp_server(folder: Path, called: str, before: str = "") -> list[str]:
    """A command that starts an MCP server which writes ``called`` when its tool is called."""
    file = folder / "server.py"
    file.write_text(
        textwrap.dedent("""
            import json, os, pathlib, signal, sys, time
            BEFORE
            TOOL = {"name": "gauge", "inputSchema": {"type": "object", "properties": {}}}
            for line in sys.stdin:
                asked = json.loads(line)
                if "id" not in asked:
                    continue
                if asked["method"] == "initialize":
                    result = {"protocolVersion": asked["params"]["protocolVersion"],
                              "serverInfo": {"name": "odd", "version": "1"},
                              "capabilities": {"tools": {}}}
                elif asked["method"] == "tools/list":
                    result = {"tools": [TOOL]}
                elif asked["method"] != "tools/call":
                    error = {"code": -32601, "message": "unknown method"}
                    reply = {"jsonrpc": "2.0", "id": asked["id"], "error": error}
                    print(json.dumps(reply), flush=True)
                    continue
                else:
                    head = '{"jsonrpc": "2.0", "id": %s, "result": ' % asked["id"]
                    CALLED
                    continue
                reply = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
                print(json.dumps(reply), flush=True)
        """)
        .replace("BEFORE", before)
        .replace("CALLED", called)
    )
    return [sys.executable, str(file)]


@pytest.mark.parametrize(
    "result",
    [
        r"""'{"content": [{"type": "text", "text": "\\ud800"}]}}'""",
        """'{"content": [], "structuredContent": ' + '[' * 5000 + ']' * 5000 + '}}'""",
        """'{"content": ['""",
    ],
    ids=["lone surrogate", "too deep", "cut short"],
)
def test_an_odd_message_is_told_as_that_and_not_as_a_time_out(tmp_path: Path, result: str) -> None:
    command = mcp_server(tmp_path, f"print(head + {result}, flush=True)")
    simulator = McpSimulator(command, timeout_s=20)
    began = time.monotonic()
    try:
        with pytest.raises(ReplyInvalid, match="cannot be read"):
            simulator.run("gauge", {}, 0)
    finally:
        simulator.close()
    assert time.monotonic() - began < 15


def test_a_hung_server_does_not_outlive_the_process_that_started_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    deaf = (
        f"pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    )
    command = mcp_server(tmp_path, "time.sleep(600)", before=deaf)
    user = textwrap.dedent(f"""
        from simulators.base import SimulatorError
        from simulators.remote.mcp import McpSimulator
        simulator = McpSimulator({command!r}, timeout_s=1)
        try:
            simulator.run("gauge", {{}}, 0)
        except SimulatorError:
            pass
    """)
    subprocess.run((sys.executable, "-c", user), check=True, timeout=60)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the server still runs")
