"""``simulrag mcp`` as an assistant starts it: over stdio and over HTTP on loopback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.integration.projects import copy_project, environment_of, simulrag

pytestmark = pytest.mark.slow
TOKEN = "a-token-for-tests-only"
CALL = {"domain": "urban", "tool": "run_scenario", "arguments": {"speed_factor": 0.8}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("assistant") / "project")


async def test_an_assistant_runs_sumo_over_stdio(project: Path, tmp_path: Path) -> None:
    command = ["-m", "flows.cli.main", "mcp", "--project", str(project)]
    started = StdioServerParameters(
        command=sys.executable, args=command, cwd=tmp_path, env=environment_of(project)
    )
    heard: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with Client(started) as client:
        assert "Domains: urban" in (client.instructions or "")
        first = await client.call_tool("simulate", CALL, progress_callback=progress)
        again = await client.call_tool("simulate", CALL)
    assert first.structured_content is not None
    assert first.structured_content["outputs"]["travel_time_s"] > 0
    assert first.structured_content["from_cache"] is False
    assert again.structured_content == {**first.structured_content, "from_cache": True}
    assert all(message.startswith("simulate: running for") for message in heard)


async def test_over_http_it_wants_its_token_and_a_page_of_this_machine(project: Path) -> None:
    command = [sys.executable, "-m", "flows.cli.main", "mcp", "--http", "0"]
    environment = environment_of(project, SIMULRAG_MCP_TOKEN=TOKEN)
    with subprocess.Popen(  # noqa: ASYNC220 it is only started here
        command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().removeprefix("listening on ").strip()
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
                async with Client(streamable_http_client(url, http_client=http)) as client:
                    result = await client.call_tool("handbook", {"domain": "urban"})
                    assert result.is_error is False
                foreign = await http.post(url, headers={"Origin": "http://evil.example"}, json={})
                assert foreign.status_code == 403
                renamed = await http.post(url, headers={"Host": "evil.example"}, json={})
                assert renamed.status_code == 421
            async with httpx2.AsyncClient() as http:
                assert (await http.post(url, json={})).status_code == 401
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--http", "0"), "set SIMULRAG_MCP_TOKEN"),
        (("--model", "openai:gpt-5-mini"), "--allow-calls-that-cost only"),
        (("--project", "/"), "no params.yaml in /"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    said = simulrag(project, "mcp", *arguments, SIMULRAG_MCP_TOKEN="short")
    assert words in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert said.returncode != 0
