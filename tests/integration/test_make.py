"""What `make` does before anything is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.projects import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def made(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ("make", "--no-print-directory", *arguments)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def python(folder: Path, version: str) -> Path:
    """An interpreter that says its version, and whether it is new enough, and nothing else."""
    file = folder / f"python-{version}"
    new = int(version.split(".")[1]) >= 11
    file.write_text(
        "#!/bin/sh\n"
        f'case "$*" in --version) echo Python {version};; *platform*) echo {version};; '
        f"*) exit {0 if new else 1};; esac\n"
    )
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("target", ["run", "test", "lint"])
def test_a_python_that_is_too_old_is_said_and_nothing_is_installed(
    folder: Path, target: str
) -> None:
    done = made(folder, target, f"PYTHON={python(folder, '3.9.6')}")
    assert done.returncode == 2
    assert "needs Python 3.11 or newer" in done.stderr
    assert "says Python 3.9.6" in done.stderr
    assert not (folder / ".venv").exists()


def test_a_venv_of_another_python_is_cleared_and_that_of_the_same_is_kept(folder: Path) -> None:
    newer = python(folder, "3.12.1")
    (folder / ".venv").mkdir()
    (folder / ".venv/.installed-3.11.2").touch()
    assert "-m venv --clear .venv" in made(folder, "-n", "setup", f"PYTHON={newer}").stdout
    (folder / ".venv/.installed-3.12.1").touch()
    assert "venv" not in made(folder, "-n", "setup", f"PYTHON={newer}").stdout
    later = (folder / ".venv/.installed-3.12.1").stat().st_mtime + 10
    os.utime(folder / "pyproject.toml", (later, later))  # installed again, not anew
    assert "-m venv  .venv" in made(folder, "-n", "setup", f"PYTHON={newer}").stdout


def test_help_names_every_target(folder: Path) -> None:
    said = made(folder, "help").stdout
    named = {line.split()[1] for line in said.splitlines()}
    declared = (folder / "Makefile").read_text().partition(".PHONY: ")[2].partition("\n")[0]
    assert named == set(declared.split()) - {"setup", "assets"}


def test_the_venv_s_own_python_is_taken_where_it_is_there(folder: Path) -> None:
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python3").symlink_to(sys.executable)
    told = made(folder, "-n", "setup").stdout
    version = ".".join(map(str, sys.version_info[:3]))
    assert f".installed-{version}" in told
