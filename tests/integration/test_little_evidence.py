"""A model that never calls a tool: its answers come through, and everybody is told what of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.project import Project
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


def test_answers_without_evidence_are_yellow_everywhere(project: Path) -> None:
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

    for stage in ("label", "metrics"):
        simulrag(project, "stage", stage, "--domain", "urban", check=True)
    simulrag(project, "stage", "report", check=True)
    page = Project(project).results.report.read_text(encoding="utf-8")
    before, _, _ = page.partition("<figure")
    assert 'class="warning"' in before
    assert said in before
    coverage = (Project(project).results.report.parent / "tables" / "coverage.csv").read_text()
    assert coverage.splitlines()[-1].endswith(",0.0 %")
    shown = simulrag(project, "table", check=True).stdout
    assert said in " ".join(shown.split())
