"""MCP servers of ours as simulators: by command and by address, and when they misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulators.base import ArgumentError, MissingEngineError, RunError, validate_call
from simulators.conformance import check
from simulators.remote.mcp import McpSimulator
from simulators.remote.tools import (
    ReplyTooLarge,
    ServiceDied,
    ServiceReplyInvalid,
    ServiceTimeout,
    ToolsChanged,
)
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from tests.integration.projects import ROOT, change_params, copy_project, simulrag

pytestmark = pytest.mark.slow
KEY = "kept-very-secret"


def by_command(server: str, **settings: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", f"tests.servers.{server}"]
    return {"command": command, "folder": str(ROOT), **settings}


@contextlib.contextmanager
def started(port: int, *command: str, folder: Path = ROOT) -> Iterator[None]:
    """A Python program that listens at the port."""
    program = [sys.executable, *command]
    with subprocess.Popen(program, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            yield
        finally:
            process.kill()


def free_port(wanted: int = 0) -> int:
    with socket.create_server(("127.0.0.1", wanted)) as free:
        port: int = free.getsockname()[1]
    return port


@contextlib.contextmanager
def listening(server: str, port: int = 0) -> Iterator[str]:
    """A server of ours over HTTP: its address. ``port`` 0: any free one."""
    port = free_port(port)
    with started(port, "-m", f"tests.servers.{server}", str(port)):
        yield f"http://127.0.0.1:{port}/mcp"


def ask(simulator: McpSimulator, **arguments: Any) -> Any:
    (tool,) = simulator.tools
    return simulator.run(tool, validate_call(simulator, tool, arguments), 0)


@pytest.fixture
def gauge(monkeypatch: pytest.MonkeyPatch) -> Iterator[McpSimulator]:
    monkeypatch.setenv("GAUGE_KEY", KEY)
    made = McpSimulator(**by_command("mcp_faults", environment=["GAUGE_KEY"], timeout_s=20))
    yield made
    made.close()


def test_a_server_is_a_domain_of_params(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    (project / "basin.md").write_text("# Basins\n\nAsk for storms of six hours.\n")
    settings = by_command("mcp_basin", handbook="basin.md", salt="2026")
    change_params(project, **{"simulators.basin": {"name": "mcp", "settings": settings}})
    handbook = simulrag(project, "handbook", "basin", check=True).stdout
    assert "Ask for storms of six hours." in handbook
    assert "| rain_mm | number | mm | 0 to 200 | required | rain of the storm |" in handbook
    call = ("simulate", "basin", "fill", '{"rain_mm": 100}')
    assert "peak_m3 (most water in the basin): 3700.0 m3" in simulrag(project, *call).stdout
    again = json.loads(simulrag(project, *call, "--json", check=True).stdout)
    assert again["from_cache"] is True
    assert again["outputs"]["overflows"] is False
    refused = simulrag(project, "simulate", "basin", "fill", '{"rain_mm": 900}')
    assert refused.returncode == 2
    assert "greater than the maximum of 200" in refused.stderr


@pytest.mark.parametrize("server", ["mcp_basin", "mcp_faults"])
def test_by_address_and_by_command_it_does_the_same(server: str) -> None:
    one = McpSimulator(**by_command(server))
    call = {"rain_mm": 50} if server == "mcp_basin" else {}
    with listening(server) as url:
        other = McpSimulator(url=url)
        assert other.fingerprint() != one.fingerprint()  # who says so may be another
        assert other.handbook() == one.handbook()
        assert ask(other, **call) == ask(one, **call)
        other.close()
    one.close()


def test_it_keeps_the_protocol() -> None:
    findings = check("mcp", by_command("mcp_basin"))
    assert {finding.what: finding.problems for finding in findings if not finding.passed} == {}


@pytest.mark.parametrize(
    ("way", "error", "words"),
    [
        ("die", ServiceDied, r"'gauge' ended .*its key was \*\*\*"),
        ("huge", ReplyTooLarge, "above the limit of 10 MB"),
        ("change", ToolsChanged, "changed its tools"),
        ("misfit", ServiceReplyInvalid, "'high' is not of type 'number'"),
        ("silent", ServiceReplyInvalid, "neither a text nor outputs"),
        ("error", RunError, "failed: no gauge on this day"),
        ("echo_key", RunError, r"failed: refused \*\*\*"),
    ],
)
def test_a_server_that_misbehaves_is_a_typed_error_and_the_next_call_goes_on(
    gauge: McpSimulator, way: str, error: type[RunError], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        ask(gauge, way=way)
    assert KEY not in str(raised.value)
    assert ask(gauge)["level_m"] == 1.5


def test_a_server_that_hangs_is_left() -> None:
    simulator = McpSimulator(**by_command("mcp_faults", timeout_s=2))
    with pytest.raises(ServiceTimeout, match="within 2 s"):
        ask(simulator, way="hang")
    assert ask(simulator)["level_m"] == 1.5
    simulator.close()


def test_what_was_run_before_a_failure_is_kept(gauge: McpSimulator, tmp_path: Path) -> None:
    async def runs() -> list[Any]:
        with CallCache(tmp_path, stage="test") as cache:
            simulations = Simulations(gauge, cache)
            await simulations.run("gauge", {"day": 1}, 0)
            with pytest.raises(ServiceDied):
                await simulations.run("gauge", {"day": 1, "way": "die"}, 0)
            again = await simulations.run("gauge", {"day": 1, "way": "word"}, 0)
            return [simulations.runs, again.text]

    assert asyncio.run(runs()) == [1, "The river stands at 1.5 m."]


def test_an_address_that_is_dead() -> None:
    with pytest.raises(ServiceDied, match="cannot be reached"):
        McpSimulator(url=f"http://127.0.0.1:{free_port()}/mcp")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "one of command"),
        ({"command": ["a"], "url": "http://a"}, "not both"),
        ({"command": "python -m server"}, "a list of words"),
        ({"url": "http://[::1/x"}, "url is no address"),
        ({"url": 5}, "url is no"),
        ({"url": "http://a", "token_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"),
        (by_command("mcp_raw", tools=["flood"]), "has no tool flood; known: gauge"),
        (by_command("mcp_raw", examples={"flood": [{}]}), "has no tool flood"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        McpSimulator(**settings)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises((ServiceDied, MissingEngineError), match="no-such-program"):
        McpSimulator(command=["no-such-program"])


def test_a_server_whose_start_fails_says_its_last_words() -> None:
    with pytest.raises(ServiceDied, match="No module named"):
        McpSimulator(command=[sys.executable, "-m", "no_such_module"])


def test_a_reply_over_http_is_bounded_and_a_server_that_was_started_again_is_found() -> None:
    with listening("mcp_faults") as url:
        simulator = McpSimulator(url=url, max_mb=1)
        with pytest.raises(ReplyTooLarge, match="more than 1 MB"):
            ask(simulator, way="huge")
        assert ask(simulator)["level_m"] == 1.5
    with pytest.raises(ServiceDied, match="cannot be reached"):
        ask(simulator)
    with listening("mcp_faults", int(url.split(":")[2].partition("/")[0])):
        with contextlib.suppress(ServiceDied):  # of a session that it does not know
            ask(simulator)
        assert ask(simulator)["level_m"] == 1.5
        simulator.close()


SERVICE = '''
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI(title="Rivers", version="1")

class Level(BaseModel):
    level_m: float

@app.get("/level/{river}", operation_id="level")
def level(river: str, rain_mm: float = 0.0) -> Level:
    """The level of a river after rain."""
    return Level(level_m=1.5 + rain_mm / 100)
'''


def test_a_web_service_is_one_by_the_bridge_of_the_documentation(tmp_path: Path) -> None:
    pytest.importorskip("fastmcp", reason="the bridge is not installed: pip install fastmcp")
    port = free_port()
    (tmp_path / "rivers.py").write_text(SERVICE)
    page = (ROOT / "docs/bring-your-own-simulator.md").read_text()
    (bridge,) = re.findall(r"```python\n(import httpx2\n.*?)```", page, re.S)
    (tmp_path / "bridge.py").write_text(bridge.replace("8801", str(port)))
    with started(port, "-m", "uvicorn", "rivers:app", "--port", str(port), folder=tmp_path):
        simulator = McpSimulator([sys.executable, "bridge.py"], folder=str(tmp_path))
        assert "The level of a river after rain." in simulator.handbook()
        outputs = simulator.run("level", {"river": "Elbe", "rain_mm": 20.0}, 0)
        assert outputs["level_m"] == 1.7
        simulator.close()
