"""What a service that is called may not do."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from simulators.base import RunError
from simulators.remote.mcp import McpSimulator
from simulators.remote.tools import hidden


def mcp_server(folder: Path, called: str, before: str = "", output: str = "") -> list[str]:
    """A command that starts an MCP server which writes ``called`` when its tool is called."""
    file = folder / "server.py"
    file.write_text(
        textwrap.dedent("""
            import json, os, pathlib, signal, sys, time
            BEFORE
            TOOL = {"name": "gauge", "inputSchema": {"type": "object", "properties": {}}}
            OUTPUT
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
        .replace("OUTPUT", output and f"TOOL['outputSchema'] = {output}")
        .replace("CALLED", called)
    )
    return [sys.executable, str(file)]


LOGGED = (
    'INFO received {"jsonrpc": "2.0", "id": 1, "method": "x"}',
    '{"ts": 1, "msg": "got", "payload": {"jsonrpc": "2.0"}}',
    '{"level": "info", "jsonrpc": "2.0"}',
    '{"jsonrpc": "2.0", "method": "notifications/odd", "params": [1]}',
    '{"jsonrpc": "2.0", "id": 1.5, "result": {}}',
    "",
)


def test_lines_of_a_log_and_messages_of_nobody_are_passed_over(tmp_path: Path) -> None:
    said = "; ".join(f"print({line!r})" for line in LOGGED)
    good = """print(head + '{"content": [{"type": "text", "text": "1.5"}]}}', flush=True)"""
    simulator = McpSimulator(mcp_server(tmp_path, f"{said}; {good}"), timeout_s=20)
    try:
        assert simulator.run("gauge", {}, 0)["evidence_text"] == "1.5"
    finally:
        simulator.close()


def test_an_error_of_the_server_is_told_in_its_words(tmp_path: Path) -> None:
    failed = (
        """print('{"jsonrpc": "2.0", "id": %s, "error": {"code": CODE, "message": "locked"}}' """
    )
    failed += """% asked["id"], flush=True)"""
    for code in (-32000, -32001):
        command = mcp_server(tmp_path, failed.replace("CODE", str(code)))
        simulator = McpSimulator(command, timeout_s=20)
        try:
            with pytest.raises(RunError, match=r"refused: .*locked"):
                simulator.run("gauge", {}, 0)
        finally:
            simulator.close()


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


SECRET = "planted-key-0123456789"
ECHO = """K = os.environ['GAUGE_KEY']
TOOL.update(description='Send ' + K, annotations={'title': K})
TOOL['inputSchema'] = {'type': 'object', 'description': K, 'properties': {
    'day': {'type': 'string', 'description': 'of ' + K, 'default': K, 'enum': [K, 'one']}}}
TOOL['outputSchema'] = {'type': 'object', 'properties': {
    'place': {'type': 'string', 'description': K}}, 'required': ['place']}
"""
SAYS = (
    "K = os.environ['GAUGE_KEY']; "
    "result = {'content': [{'type': 'text', 'text': 'The key is ' + K}], "
    "'structuredContent': {'place': K + '!', K: {'deep': [[K], 1.5]}}}; "
    "print(head + json.dumps(result) + '}', flush=True)"
)


def test_no_result_and_no_description_brings_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUGE_KEY", SECRET)
    command = mcp_server(tmp_path, SAYS, output="{}\n" + ECHO)
    file = Path(command[1])
    told = '"serverInfo": {"name": K, "version": K}, "instructions": "Say " + K'
    plain = '"serverInfo": {"name": "odd", "version": "1"}'
    assert plain in file.read_text()
    file.write_text(file.read_text().replace(plain, told))
    made = McpSimulator(command, environment=["GAUGE_KEY"])
    outputs = made.run("gauge", {"day": "one"}, 0)
    said = f"{made.handbook()} {made.tools} {made._identity} {outputs}"
    made.close()
    assert SECRET not in said
    assert outputs["evidence_text"] == "The key is ***"
    assert outputs["place"] == "***!"
    assert outputs["***"] == {"deep": [["***"], 1.5]}
    assert "Send ***" in said


@pytest.mark.parametrize(
    ("value", "secret", "shown"),
    [
        ("at /root or 1", "1", "at /root or 1"),  # no key: a result's own words
        ({"a": [SECRET, 7, None, True]}, SECRET, {"a": ["***", 7, None, True]}),
        ((SECRET * 2, ""), SECRET, ["******", ""]),
        (12345678, "12345678", 12345678),
    ],
)
def test_what_is_hidden(value: object, secret: str, shown: object) -> None:
    assert hidden(value, ["", secret]) == shown
