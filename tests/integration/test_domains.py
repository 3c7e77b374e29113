"""A domain more: params.yaml only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from flows.project import Project
from flows.running.runner import execute
from flows.stages import stage_of
from tests.integration.projects import ROOT, copy_project, run


@pytest.mark.slow
def test_a_domain_more_is_an_edit_of_params_yaml(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    text = (ROOT / "params.yaml").read_text()
    text = text.replace("domains:\n", "domains:\n  - urban2\n", 1)
    text = text.replace("simulators:\n", "simulators:\n  urban2: {name: urban}\n", 1)
    (project / "params.yaml").write_text(text)
    run(project, sys.executable, "-m", "dvc", "init", "--no-scm", "-q")
    dag = run(project, sys.executable, "-m", "dvc", "dag", "--dot").stdout
    for stage, after in (
        ("simulators", "benchmark@urban2"),
        ("benchmark@urban2", "answer@urban2"),
        ("answer@urban2", "label@urban2"),
        ("label@urban2", "metrics@urban2"),
        ("metrics@urban2", "report"),
    ):
        assert f'"{stage}" -> "{after}"' in dag


def test_identities_are_of_the_domains_in_params_yaml(tmp_path: Path) -> None:
    """A domain's file changes with its simulator, and only then."""
    settings = {"urban": {"name": "urban"}, "city": {"name": "urban", "seed": 3}}
    project = Project(
        copy_project(tmp_path / "project", domains=["urban", "city"], simulators=settings)
    )
    execute(stage_of("simulators"), project)
    files = [project.results.simulator(name) for name in ("urban", "city")]
    urban, city = (yaml.safe_load(file.read_text()) for file in files)
    assert {**urban, "domain": "city"} == city
    before = [file.read_bytes() for file in files]
    execute(stage_of("simulators"), project)
    assert [file.read_bytes() for file in files] == before
