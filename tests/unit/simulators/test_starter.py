"""The starter: `simulrag simulators new` writes it, and calls of it are checked."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from flows.cli.main import ended
from flows.cli.sources import simulators_app
from simulators.base import ArgumentError, Simulator, handbook_with_guide, validate_call
from simulators.registry import load
from tests.integration.projects import ROOT, copy_project, run, simulrag
from tests.unit.simulators.reservoir import install, source


def _new(name: str) -> int:
    return ended(lambda: simulators_app(["new", name]))


def test_the_package_passes_its_check_and_its_own_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _new("kick_starter") == 0
    package = tmp_path / "kick_starter"
    assert sorted(str(file.relative_to(package)) for file in package.rglob("*.*")) == [
        "pyproject.toml",
        "src/kick_starter/__init__.py",
        "src/kick_starter/simulator.py",
        "test_kick_starter.py",
    ]
    assert "noqa" not in (package / "src/kick_starter/simulator.py").read_text()
    check = ("simulators", "check", "kick_starter:KickStarter")
    outside = simulrag(tmp_path, *check, PYTHONPATH=str(ROOT)).stderr
    assert f"{package} has no __init__.py, so it is no package: begin in it" in outside
    assert "FAILED" not in simulrag(package, *check, check=True, PYTHONPATH=str(ROOT)).stdout
    path = os.pathsep.join(map(str, (ROOT, package / "src")))
    plain = ("-n", "0", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"))
    test = package / "test_kick_starter.py"
    done = run(package, sys.executable, "-m", "pytest", *plain, str(test), PYTHONPATH=path)
    assert "2 passed" in done.stdout


@pytest.mark.slow
def test_installed_in_a_clone_s_root_it_is_found_there(tmp_path: Path) -> None:
    clone = copy_project(tmp_path / "clone")
    run(clone, sys.executable, "-m", "venv", "--without-pip", "venv")
    (packages,) = (clone / "venv").glob("lib/*/site-packages")
    # The clone comes first, as its own editable install has it; then what the tests run with.
    (packages / "a_clone.pth").write_text(f"{clone}\n")
    ours = sysconfig.get_path("purelib")
    (packages / "b_tests.pth").write_text(f"import site; site.addsitedir({ours!r})\n")

    def typed(*words: str) -> str:
        # -P: a console script does not look in the working directory either.
        python = str(clone / "venv/bin/python")
        return run(clone, python, "-P", "-m", *words, PYTHONPATH="").stdout

    def ours_typed(*words: str) -> str:
        return typed("flows.cli.main", *words)

    ours_typed("simulators", "new", "reservoir")
    offline = ("--no-index", "--no-build-isolation", "--no-deps")
    typed("pip", "--disable-pip-version-check", "install", *offline, "-e", "reservoir")
    told = ours_typed("simulators", "check", "reservoir")
    assert (told.count("passed"), told.count("FAILED")) == (8, 0)
    assert ours_typed("handbook", "reservoir").startswith("# A reservoir\n")
    dry = ours_typed("simulate", "reservoir", "run_scenario", '{"inflow_m3_per_day": 20000}')
    assert dry.endswith("is 66.7 days.\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lake", "lake is there already"),
        ("Lake", "'Lake' cannot be the name"),
        ("water-network", "'water-network' cannot be the name"),
        ("class", "'class' cannot be the name"),
        ("../lake", "'../lake' cannot be the name"),
        ("json", "'json' is installed already"),
        ("urban", "'urban' is installed already"),
    ],
)
def test_a_name_that_does_not_fit_is_refused_in_words(
    name: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    assert _new(name) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["lake"]


@pytest.fixture
def reservoir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    install(tmp_path, monkeypatch, source())
    return load("reservoir", {"volume_m3": 3e6})


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("drain", {}, "no tool 'drain'"),
        ("run_scenario", {}, "inflow_m3_per_day"),
        ("run_scenario", {"inflow_m3_per_day": -1}, "greater than or equal to 0"),
        ("run_scenario", {"inflow_m3_per_day": float("nan")}, "finite"),
        ("run_scenario", {"inflow_m3_per_day": 1, "colour": "red"}, "colour"),
    ],
)
def test_bad_calls_are_refused(
    reservoir: Simulator, tool: str, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        validate_call(reservoir, tool, arguments)


def test_a_guide_stands_before_the_tools(
    reservoir: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert handbook_with_guide(reservoir) == reservoir.handbook()  # it has none
    monkeypatch.setattr(type(reservoir), "guide", lambda _: "## Ask\n\nFor days.\n", raising=False)
    prose, tools = reservoir.handbook().split("\n\n## Tools\n")
    assert handbook_with_guide(reservoir) == f"{prose}\n\n## Ask\n\nFor days.\n\n## Tools\n{tools}"
