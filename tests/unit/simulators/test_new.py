"""`simulrag simulators new` writes a package that passes its own check and its own test."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from flows.cli.errors import ended
from flows.cli.simulators import simulators_app
from tests.integration.projects import ROOT, run, simulrag


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
