"""``python -m simulators.DOMAIN.validate``: the study in the repository, one line elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def validate(domain: str, home: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command as who has the packages in ``home`` starts it, in another folder."""
    return subprocess.run(
        [sys.executable, "-m", f"simulators.{domain}.validate", "nowhere"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("domain", ["climate", "epidemiology", "urban"])
def test_in_the_repository_the_study_runs(domain: str, tmp_path: Path) -> None:
    done = validate(domain, ROOT, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: nowhere/parsed.csv cannot be read")


def test_without_the_repository_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "simulators").symlink_to(ROOT / "simulators")
    done = validate("urban", tmp_path, tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "studies.urban.validate" in done.stderr
    assert "clone" in done.stderr
