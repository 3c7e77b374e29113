"""A model that never calls a tool: its answers come through, with a warning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import stand_in
from simulrag.testing.wires import Body, schema_name
from tests.integration.prefect_api import ask, free_port
from tests.integration.projects import copy_project, simulrag, stub_roles

pytestmark = pytest.mark.slow
QUESTIONS = 3


def calls_no_tool(body: Body) -> str:
    none = '{"calls": [], "more": false}'
    return none if schema_name(body) == "Plan" else _scripted(body)


_scripted = stand_in()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    with LoopbackServer(calls_no_tool) as server:
        yield copy_project(
            tmp_path / "project",
            **{
                "domains": ["urban"],
                "benchmark.questions": QUESTIONS,
                "operations.prefect": "auto",
            },
            **stub_roles(server.url),
        )


def test_answers_without_evidence_come_with_a_warning_in_prefect_too(
    project: Path,
) -> None:
    simulrag(project, "ui", "--port", free_port(), check=True)
    try:
        simulrag(project, "stage", "simulators", check=True)
        simulrag(project, "stage", "benchmark", "--domain", "urban", check=True)
        done = simulrag(project, "stage", "answer", "--domain", "urban", check=True)
        (watched,) = (
            one for one in ask(project, "flow_runs/filter") if one["name"] == "answer-urban"
        )
    finally:
        simulrag(project, "ui", "--stop")
    said = f"{QUESTIONS} of {QUESTIONS} answers rest on no evidence"
    assert f"warning: answer-urban: {said}" in done.stderr
    assert watched["state_name"] == "CompletedWithWarning"
    assert said in watched["state"]["message"]
