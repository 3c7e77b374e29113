"""What a service that is called may not do."""

from __future__ import annotations

import asyncio
import http.server
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from simulators.base import ArgumentError, RunError, render_handbook
from simulators.remote.mcp import McpSimulator
from simulators.remote.tools import Offered, hidden, make_tool, outputs_of
from simulators.tied import tied
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations


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


def _folder(root: Path, name: str, says: str) -> Path:
    """A folder with a server that calls itself as all of these do."""
    said = """print(head + '{"content": [{"type": "text", "text": "SAYS"}]}}', flush=True)"""
    (root / name).mkdir(parents=True)
    mcp_server(root / name, said.replace("SAYS", says))
    return root / name


@pytest.mark.parametrize("apart", ["by their words", "by their folders"])
def test_services_that_call_themselves_alike_share_no_run(tmp_path: Path, apart: str) -> None:
    evil, honest = _folder(tmp_path, "evil", "false"), _folder(tmp_path, "honest", "true")

    async def said() -> list[str]:
        texts = []
        with CallCache(tmp_path / "calls", stage=None) as cache:
            for folder in (evil, honest, evil):
                words = "server.py" if apart == "by their folders" else str(folder / "server.py")
                place = str(folder) if apart == "by their folders" else None
                simulator = McpSimulator([sys.executable, words], folder=place, timeout_s=20)
                runs = Simulations(simulator, cache)
                texts.append(f"{(await runs.run('gauge', {}, 0)).text} {runs.runs}")
                simulator.close()
        return texts

    assert asyncio.run(said()) == ["false 1", "true 1", "false 0"]


def test_a_project_that_was_moved_keeps_its_runs(tmp_path: Path) -> None:
    found = set()
    for root in ("here", "there"):
        folder = _folder(tmp_path / root, "server", "true")
        (tmp_path / root / "params.yaml").touch()
        simulator = McpSimulator([sys.executable, "server.py"], folder=str(folder), timeout_s=20)
        found.add(simulator.fingerprint())
        simulator.close()
    assert len(found) == 1


MCP = """
from simulators.remote.mcp import McpSimulator
McpSimulator(COMMAND, timeout_s=600).run("gauge", {}, 0)
"""
STARTED = """
import subprocess
from simulators.tied import tied
subprocess.run(tied(COMMAND))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that we were killed")
@pytest.mark.parametrize("user", [MCP, STARTED], ids=["an MCP server", "another child"])
def test_a_hung_child_ends_with_us_after_kill_9(tmp_path: Path, user: str) -> None:
    pid = tmp_path / "pid"
    deaf = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))"
    )
    command = mcp_server(tmp_path, "time.sleep(600)", before=deaf)
    if user is STARTED:
        command = [
            sys.executable,
            "-c",
            f"import os, pathlib, signal, time; {deaf}; time.sleep(600)",
        ]
    parent = subprocess.Popen((sys.executable, "-c", user.replace("COMMAND", repr(command))))
    _until(lambda: pid.is_file() and pid.read_text() != "")
    assert os.getpgid(int(pid.read_text()))  # it is there
    parent.kill()
    parent.wait()
    _until(lambda: not _runs(int(pid.read_text())))


def test_a_child_of_a_parent_that_is_gone_does_not_begin(tmp_path: Path) -> None:
    command = tied([sys.executable, "-c", f"open({str(tmp_path / 'began')!r}, 'w')"])
    other = [str(os.getppid()) if word == str(os.getpid()) else word for word in command]
    subprocess.run(other, check=True)
    assert not (tmp_path / "began").exists()


def test_a_child_sees_the_variables_that_it_is_given(tmp_path: Path) -> None:
    command = tied(["/usr/bin/env"])
    done = subprocess.run(command, env={"A": "1"}, capture_output=True, text=True, check=True)
    assert done.stdout == "A=1\n"


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    """Tell whether a process runs; one that ended and that nobody took note of does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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


LONG = f"{SECRET}-and-more-of-it-{'0123456789' * 3}"
DIES = "sys.stderr.write(SAID); sys.stderr.flush(); os._exit(3)"
BLOCK = "print(head + json.dumps({'content': [{'type': K, 'text': K}]}) + '}', flush=True)"
REFUSAL = (
    "print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'error': {'code': -1, "
    "'message': 'bad [type=x, input_value=' + repr(K[:20] + '...' + K[-20:])}}), flush=True)"
)


@pytest.mark.parametrize(
    "called",
    [
        DIES.replace("SAID", "'x' * 170 + K"),
        DIES.replace("SAID", "'x' * 970 + K"),
        DIES.replace("SAID", "K + 'x' * 19_990"),
        DIES.replace("SAID", "'first\\n' + K + 'x' * 19_990 + '\\n' + K"),
        BLOCK,
        REFUSAL,
    ],
)
def test_no_error_brings_a_part_of_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str
) -> None:
    """What is shown in part is a part of what the keys were taken out of."""
    monkeypatch.setenv("GAUGE_KEY", SECRET)
    monkeypatch.setenv("LONGER_KEY", LONG)  # the other one is how it begins
    command = mcp_server(tmp_path, called, before="K = os.environ['LONGER_KEY']")
    made = McpSimulator(command, environment=["GAUGE_KEY", "LONGER_KEY"], timeout_s=20)
    with pytest.raises(RunError) as caught:
        made.run("gauge", {}, 0)
    made.close()
    assert not [at for at in range(len(LONG) - 8) if LONG[at : at + 8] in str(caught.value)]


class NoJson(http.server.BaseHTTPRequestHandler):
    """It answers with the key that it was sent, which is no JSON."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(self.headers["authorization"].encode() * 3)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_what_an_address_answers_brings_no_part_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUGE_KEY", LONG)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), NoJson) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        with pytest.raises(RunError, match="Invalid JSON") as caught:
            McpSimulator(url=url, token_env="GAUGE_KEY", timeout_s=20)
        server.shutdown()
    assert not [at for at in range(len(LONG) - 8) if LONG[at : at + 8] in str(caught.value)]


@pytest.mark.parametrize(
    "before",
    ["TOOL['description'] = 'x' * 300_000", "TOOL['outputSchema']['title'] = 'x' * 300_000"],
)
def test_what_a_server_tells_of_itself_is_bounded(tmp_path: Path, before: str) -> None:
    command = mcp_server(tmp_path, "", output="{'type': 'object'}\n" + before)
    with pytest.raises(RunError, match=r"above the limit of 0\.2 MB"):
        McpSimulator(command, timeout_s=20, max_mb=0.2)


def test_the_instructions_of_a_server_are_bounded(tmp_path: Path) -> None:
    command = mcp_server(tmp_path, "")
    file = Path(command[1])
    plain = '"serverInfo": {"name": "odd", "version": "1"}'
    file.write_text(file.read_text().replace(plain, plain + ", 'instructions': 'x' * 300_000"))
    with pytest.raises(RunError, match=r"above the limit of 0\.2 MB"):
        McpSimulator(command, timeout_s=20, max_mb=0.2)


ODD_SCHEMAS: list[dict[str, Any]] = [
    *({name: None} for name in ("type", "properties", "required", "enum", "description", "title")),
    *({name: ["x"]} for name in ("type", "properties", "required", "enum", "description")),
    {"properties": {"x": {"items": True, "type": "array"}}},
    {"properties": {"x": {"$ref": "#/properties/x/$ref/0"}}},
    *({"properties": {"x": {name: None}}} for name in ("type", "enum", "anyOf", "default")),
    {"properties": {"x": None, "y": True}},
    {"properties": {"seed": {"anyOf": [True, {"type": "integer"}]}}},
    {"properties": {"seed": {"anyOf": None}}},
    {"properties": {"seed": {"type": ["integer", "null"]}}, "required": None},
]


def _used(tool: Offered) -> str:
    """What comes of a tool: its table and a run, or one line on why not."""
    try:
        made = make_tool(tool)
        return render_handbook("", {"gauge": made}) + str(outputs_of(made, {"z": 1}, "1.5"))
    except (ArgumentError, RunError) as error:
        return f"refused: {error}"


@pytest.mark.parametrize("schema", ODD_SCHEMAS, ids=str)
def test_an_odd_schema_is_used_or_refused_in_a_line(schema: dict[str, Any]) -> None:
    for tool in (Offered("gauge", "", schema), Offered("gauge", "", {}, schema)):
        told = _used(tool)
        assert "gauge" in told
        assert ("'evidence_text': '1.5'" in told) or ("\n" not in told and "refused: " in told)


def test_an_output_schema_without_properties_may_say_null() -> None:
    tool = make_tool(Offered("gauge", "", {}, {"type": "object", "properties": None}))
    assert outputs_of(tool, {"y": 1}, "1.5") == {"y": 1, "evidence_text": "1.5"}
