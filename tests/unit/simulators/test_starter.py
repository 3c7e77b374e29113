"""The starter: `simulrag simulators new` writes it, and calls of it are checked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from flows.cli.main import ended
from flows.cli.sources import simulators_app
from simulators.base import ArgumentError, Simulator, handbook_with_guide, validate_call
from simulators.registry import load
from tests.integration.projects import ROOT, run, simulrag
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
        "kick_starter/__init__.py",
        "kick_starter/simulator.py",
        "pyproject.toml",
        "test_kick_starter.py",
    ]
    path = os.pathsep.join(map(str, (ROOT, package)))
    check = ("simulators", "check", "kick_starter:KickStarter")
    assert "FAILED" not in simulrag(tmp_path, *check, check=True, PYTHONPATH=path).stdout
    plain = ("-n", "0", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"))
    test = package / "test_kick_starter.py"
    done = run(package, sys.executable, "-m", "pytest", *plain, str(test), PYTHONPATH=path)
    assert "2 passed" in done.stdout


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
        ("draw_down", {}, "inflow_m3_per_day"),
        ("draw_down", {"inflow_m3_per_day": -1}, "greater than or equal to 0"),
        ("draw_down", {"inflow_m3_per_day": float("nan")}, "finite"),
        ("draw_down", {"inflow_m3_per_day": 1, "colour": "red"}, "colour"),
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
