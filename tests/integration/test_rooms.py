"""Every room can be deleted: what is left lints and passes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from flows.hooks import room_names
from tests.integration.projects import ROOT, SIMULRAG, environment_of

pytestmark = pytest.mark.slow
PARAMS = ("params.yaml", "tests/params.yaml")
MODULE = (sys.executable, "-m")
CHECKED = (
    (*SIMULRAG, "docs", "dvc"),
    (*SIMULRAG, "docs", "reference"),
    (str(Path(sys.executable).with_name("lint-imports")),),
    (*MODULE, "mypy"),
)
TESTED = (*MODULE, "pytest", "-n", "2", "-m", "not slow", "--basetemp", "../tests")
LISTED = ("tests/unit/flows", "tests/unit/report", "tests/integration/test_recorded.py")
"""Tests of what goes over the rooms that are there."""


@pytest.mark.parametrize("room", room_names())
def test_without_a_room_the_project_checks_and_the_others_are_found(
    room: str, tmp_path: Path
) -> None:
    holds(copied(tmp_path / "project"), [room], *CHECKED, (*TESTED, *LISTED))


def test_without_any_room_the_core_passes(tmp_path: Path) -> None:
    core = (*TESTED, "tests/unit", "tests/integration/test_recorded.py")
    holds(copied(tmp_path / "project"), room_names(), *CHECKED, (*MODULE, "ruff", "check"), core)


def test_without_the_pipeline_the_library_passes(tmp_path: Path) -> None:
    project = copied(tmp_path / "project")
    shutil.rmtree(project / "flows")
    (project / "tests/conftest.py").unlink()  # fixtures of whole runs
    above = re.compile(r"(flows|rooms|tests\.(integration|recorded|rooms))\b")
    needing = [
        file
        for file in (project / "tests/unit").rglob("test_*.py")
        if re.search(rf"^\s*(from|import) {above.pattern}", file.read_text("utf-8"), re.M)
    ]
    for file in needing:
        file.unlink()
    left = [path for path in (project / "tests/unit").rglob("test_*.py") if path.is_file()]
    assert len(left) > 50
    holds(project, room_names(), (*TESTED, "tests/unit"))


def holds(project: Path, gone: Iterable[str], *commands: tuple[str, ...]) -> None:
    """Commands that pass in a project without some rooms."""
    for room in gone:
        delete(room, project)
    # The inner pytest is no worker of this one.
    kept = {k: v for k, v in environment_of(project).items() if not k.startswith("PYTEST_")}
    for command in commands:
        done = subprocess.run(
            command, cwd=project, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    shutil.rmtree(project.parent)  # with the cache it takes 200 MB


def copied(folder: Path) -> Path:
    """What git keeps of the project, and mypy's cache, so that it looks at changes only."""
    listed = subprocess.run(
        ("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
    return folder


def delete(room: str, project: Path) -> None:
    """The room's folders, and its section of each file of parameters that has one."""
    for folder in ("rooms", "prompts", "tests/rooms"):
        shutil.rmtree(project / folder / room, ignore_errors=True)  # a room may have no prompts
    section = re.compile(rf"^{room}:.*\n(?:(?: .*)?\n)*", re.M)
    for name in PARAMS:
        text = (project / name).read_text(encoding="utf-8")
        (project / name).write_text(section.sub("", text), encoding="utf-8")
