"""The example packages, installed as a user installs them, from their own tests to the report."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.projects import ROOT, copy_project, run, simulrag
from tests.integration.test_own_simulator import QUESTIONS, came_through

pytestmark = pytest.mark.slow


class Example(NamedTuple):
    """A package of examples/: its name is the simulator's."""

    name: str
    engine: str
    call: tuple[str, str]
    says: str


EXAMPLES = (
    Example(
        "water-network",
        "wntr",
        ("pressures", '{"demand_factor": 1.5, "closed_pipe": "121"}'),
        "The lowest pressure is ",
    ),
    Example(
        "power-grid",
        "power_grid_model",
        ("compare_with_today", '{"line_out": "3-8", "ties_closed": true}'),
        "The lowest voltage is 0.9577 pu.",
    ),
)


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda example: example.name)
def example(request: pytest.FixtureRequest) -> Example:
    found: Example = request.param
    if find_spec(found.engine) is None:
        pytest.skip(f"{found.engine} is not installed: pip install -e '.[examples]'")
    return found


@pytest.fixture(scope="module")
def packages(example: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the import path that pip installed the example into, without a network."""
    folder = tmp_path_factory.mktemp(example.name)
    source = shutil.copytree(ROOT / "examples" / example.name, folder / "source")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    offline = ("--no-deps", "--no-index", "--no-build-isolation")
    run(folder, *pip, *offline, "--target", str(folder / "packages"), str(source))
    return folder / "packages"


def test_its_own_tests_pass(example: Example, packages: Path, tmp_path: Path) -> None:
    test = shutil.copy(next((ROOT / "examples" / example.name).glob("test_*.py")), tmp_path)
    path = os.pathsep.join(map(str, (ROOT, packages)))
    plain = ("-n", "0", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"))
    done = run(tmp_path, sys.executable, "-m", "pytest", *plain, test, PYTHONPATH=path)
    assert "skipped" not in done.stdout


def test_it_goes_from_questions_to_the_report(
    example: Example, packages: Path, tmp_path: Path
) -> None:
    model = {"provider": "stand-in", "model": "any"}
    changes = {
        "domains": [example.name],
        "simulators": {example.name: {"name": example.name, "settings": {}}},
        "benchmark.questions": QUESTIONS,
        "benchmark.templates": 2,
        **{f"llm.{role}": model for role in ("benchmark", "answer", "judge")},
    }
    project = copy_project(tmp_path / "project", **changes)
    path = os.pathsep.join(map(str, (project, packages)))

    def ours(*arguments: str) -> str:
        return simulrag(project, *arguments, check=True, PYTHONPATH=path).stdout

    assert "FAILED" not in ours("simulators", "check", example.name)
    assert example.says in ours("simulate", example.name, *example.call)
    ours("stage", "simulators")
    for stage in ("benchmark", "answer", "label", "metrics"):
        ours("stage", stage, "--domain", example.name)
    ours("stage", "report")

    asked = came_through(project, example.name)
    assert len({question.evidence[0].call.tool for question in asked}) == 2
