"""A domain more: params.yaml only."""

from __future__ import annotations

import sys
from pathlib import Path

import grimp
import pytest
import yaml

from flows.project import Project
from flows.running.lineage import module_file
from flows.running.runner import execute
from flows.stages import stage_of
from simulrag.registry import PACKAGE, rooms
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


STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
CHANGES_NO_RESULT = {
    *("simulrag", "simulrag.errors", "simulrag.registry", "simulrag.stage", "simulrag.stand_in"),
    *("simulators", "simulators.extras", "simulators.registry"),
}
SECTIONS = {f"{PACKAGE}.{room}.settings" for room in rooms()}
"""Read with params.yaml by whatever runs, as flows/sections.py is; their values are params."""


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """Which module of ours imports which, also within functions."""
    return grimp.build_graph(
        "simulrag", "flows", "simulators", exclude_type_checking_imports=True, cache_dir=None
    )


def code_of(stage: str) -> list[str]:
    """The modules and packages among a stage's dependencies."""
    deps = [dep for dep in STAGES[stage]["deps"] if not dep.startswith("data/")]
    code = [dep for dep in deps if dep not in ("prices.yaml", "prompts")]
    return [dep.removesuffix(".py").replace("/", ".") for dep in code]


def reached(stage: str, imports: grimp.ImportGraph) -> set[str]:
    """The library's modules that a stage's own module leads to.

    What the stages share in flows/ opens and writes, and changes no result.
    """
    found: set[str] = set()
    ahead = {module_file(stage).removesuffix(".py").replace("/", ".")}
    ahead |= {dep for dep in code_of(stage) if dep.startswith("flows.")}
    if stage == "metrics":  # the registry imports every family that it finds
        ahead |= imports.find_children("simulrag.metrics.families")
    while ahead:
        found |= ahead
        after = {
            name
            for one in ahead - CHANGES_NO_RESULT
            for name in imports.find_modules_directly_imported_by(one)
        }
        ahead = {name for name in after - found - SECTIONS if not name.startswith("flows")}
    return found - CHANGES_NO_RESULT


@pytest.mark.parametrize("stage", [name for name in STAGES if name != "simulators"])
def test_a_stage_depends_on_what_it_imports_and_on_no_other_room(
    stage: str, imports: grimp.ImportGraph
) -> None:
    deps = [dep for dep in STAGES[stage]["deps"] if not dep.startswith("data/")]
    assert [dep for dep in deps if not (ROOT / dep).exists()] == []
    code = code_of(stage)

    def holds(dep: str, module: str) -> bool:
        return module == dep or module.startswith(f"{dep}.")

    modules = reached(stage, imports)
    assert sorted(name for name in modules if not any(holds(dep, name) for dep in code)) == []
    # A stage that asks a model does so through its bench.
    asked = {"simulrag.models", "simulrag.calls"} if "prompts" in deps else set()
    if stage == "report":  # what rooms show is found by the registry
        asked = {f"{PACKAGE}.{room}" for room in rooms()}
    unused = [dep for dep in code if not any(holds(dep, name) for name in modules)]
    assert set(unused) <= asked
