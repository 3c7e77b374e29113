"""The wheel with nothing but what it requires, as somebody has it who never saw the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import stand_in
from tests.integration.projects import ROOT
from tests.unit.simulators import reservoir

pytestmark = pytest.mark.slow
LARGEST_MB = 350
ASKED = """
import sys
from reservoir import Reservoir
from simulrag import answer

call = "A run of run_scenario has inflow_m3_per_day at 20000."
question = f"{call} What is the days until empty here?"
result = answer(question, simulator=Reservoir(), model=sys.argv[1], cache="calls")
assert result.text and "Run 1: reservoir.run_scenario" in result._repr_html_()
print(repr(result))
"""
TYPED = """
from simulrag import Answer, answer

found: Answer = answer("Is it?", simulator="urban", model="openai:gpt-5-mini")
text: int = found.text
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel alone."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in ("flows", "prompts", "rooms", "simulators", "simulrag"):
        shutil.copytree(ROOT / name, source / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    built = said(source, sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ".")
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None:
        pytest.skip(f"no package index answers: {built[-200:]}")
    said(folder, sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    installed = said(folder, python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", wheel)
    if "Successfully installed" not in installed:
        pytest.skip(f"no package index answers: {installed[-200:]}")
    return python


def said(folder: Path, *command: str | Path) -> str:
    """Standard output and errors of a command; where pip looks is told by the environment."""
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **index},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_example_in_a_script_runs_without_a_key(python: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "tank.py", tmp_path)
    shown = said(tmp_path, python, "tank.py")
    assert shown.startswith("<answer by 3 model calls "), shown
    assert "10 checked: Stand-in: " in shown
    assert shown.endswith("  0.1 m of water drain through 0.1 cm2 in 238.0 minutes.\n")
    without_key = said(tmp_path, python, "tank.py", "openai:gpt-5-mini").splitlines()
    assert [line[:43] for line in without_key] == ["the environment variable OPENAI_API_KEY is "]


def test_a_simulator_of_ones_own_is_asked(python: Path, tmp_path: Path) -> None:
    (tmp_path / "reservoir.py").write_text(reservoir.source())
    (tmp_path / "ask.py").write_text(ASKED)
    with LoopbackServer(stand_in()) as server:
        shown = said(tmp_path, python, "ask.py", f"{server.url}#some-model")
    assert shown.startswith("<answer by "), shown
    size = sum(file.stat().st_size for file in python.parents[1].rglob("*") if file.is_file())
    assert size < LARGEST_MB * 1e6


def test_what_is_missing_names_its_extra(python: Path, tmp_path: Path) -> None:
    simulrag = python.with_name("simulrag")
    assert "Operate:" in said(tmp_path, simulrag, "--help")
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    (tmp_path / "dvc.yaml").write_text((ROOT / "dvc.yaml").read_text())
    city = ("simulate", "climate", "query_lat_and_lon", '{"city_name": "Parris"}')
    for command, extra in (
        (("run",), "pipeline"),
        (("table",), "pipeline"),
        (("ui",), "pipeline"),
        (("mcp",), "remote"),
        (city, "climate"),
    ):
        last = said(tmp_path, simulrag, *command).splitlines()[-1]
        assert last.startswith("error: ")
        assert f"pip install 'simulrag[{extra}]'" in last


def test_type_checkers_see_it(python: Path, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    checked = said(
        tmp_path, sys.executable, "-m", "mypy", "--python-executable", python, "typed.py"
    )
    assert 'has type "str", variable has type "int"' in checked
    assert "Found 1 error" in checked
