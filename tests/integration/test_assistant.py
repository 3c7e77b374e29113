"""``simulrag mcp`` as an assistant starts it: over stdio and over HTTP on loopback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.integration.projects import copy_project, environment_of, simulrag

pytestmark = pytest.mark.slow
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "openai:gpt-5-mini"), "--allow-calls-that-cost only"),
        (("--project", "/"), "no params.yaml in /"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    said = simulrag(project, "mcp", *arguments)
    assert words in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert said.returncode != 0
