"""Verdicts by range over the recorded run: the page, and the requests that mode deferred writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.projects import change_params, copy_project, simulrag

pytestmark = pytest.mark.slow


def test_recorded_claims_wait_for_closed_requests(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project", domains=["climate"])
    done = simulrag(project, "verdicts", "compare", check=True)
    page = (project / "verdicts.md").read_text()
    assert "climate: 188 claims; by point and by range 15 requests of read_claims" in done.stdout
    assert "| model | 188 of 188 | 45 | 111 | 32 | 0 | — |" in page
    assert "| range | 0 of 188 |" in page
    assert "By range: 40 of 40 are as expected" in page
    for stage in ("benchmark", "answer"):
        simulrag(project, "stage", stage, "--domain", "climate", check=True)
    change_params(
        project,
        **{
            "answer.verify_by": "range",
            "llm.answer.replay": False,
            "operations.mode": "deferred",
        },
    )
    waiting = simulrag(project, "stage", "answer", "--domain", "climate")
    assert "15 calls pending" in waiting.stdout + waiting.stderr
    simulrag(project, "batch", "export", "--plain", "requests.jsonl", check=True)
    rows = [json.loads(line) for line in (project / "requests.jsonl").open()]
    assert {row["task"] for row in rows} == {"read_claims"}
    assert len(rows) == 15
