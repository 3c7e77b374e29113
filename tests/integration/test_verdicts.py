"""Verdicts by reading and by arithmetic over the recorded run: the page that compares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.projects import copy_project, simulrag

pytestmark = pytest.mark.slow


def test_recorded_claims_are_compared_by_what_is_stored(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project", domains=["climate"])
    early = simulrag(project, "verdicts", "compare")
    assert early.returncode == 2
    assert "run `dvc repro` to make it" in early.stderr
    for stage in ("benchmark", "answer", "label"):
        simulrag(project, "stage", stage, "--domain", "climate", check=True)
    done = simulrag(project, "verdicts", "compare", check=True)
    page = (project / "verdicts.md").read_text()
    assert "climate: 408 claims" in done.stdout
    assert "| model | 408 of 408 | 57 | 147 | 204 | 0 | — |" in page
    assert "| point | 408 of 408 | 20 | 134 | 254 | 0 | 12.7 % |" in page
    assert "| number | 140 | 137 | 137 | 136 | 136 | 0 | 0 |" in page
    assert "| The location is at sea. | class | aligned | contradicted | sea | true |" in page
    assert "By range: 40 of 40 are as expected" in page
