"""What an interruption leaves of DVC's list of locks; and Ctrl-C while a child begins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.lock import Lock

from flows.pipeline import OUTCOMES, dvc, dvc_command
from flows.project import Project
from simulrag.errors import EnvironmentFault

WHOLE = b'{"write": {}, "read": {"/p/a": [{"pid": 1, "cmd": "dvc repro"}]}}'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    return Project(tmp_path)


@pytest.mark.parametrize(
    "left", [b"", WHOLE[:30], b"\0" * 64, b"\xff\xfe", b"null", b"[" * 200_000], ids=repr
)
def test_a_list_that_was_cut_off_is_removed_and_said(
    project: Project, left: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project.root / ".dvc/tmp/rwlock"
    file.write_bytes(left)
    dvc_command(project)
    assert not file.exists()
    assert capsys.readouterr().err.startswith(f"removed {file}")


@pytest.mark.parametrize("left", [WHOLE, b"{}", None])
def test_a_whole_list_stays(
    project: Project, left: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project.root / ".dvc/tmp/rwlock"
    if left is not None:
        file.write_bytes(left)
    dvc_command(project)
    assert (file.read_bytes() if file.exists() else None) == left
    assert capsys.readouterr().err == ""


def test_a_list_that_somebody_writes_is_left_to_them(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dvc.lock.DEFAULT_TIMEOUT", 0.1)
    file = project.root / ".dvc/tmp/rwlock"
    file.touch()
    with (
        Lock(str(project.root / ".dvc/tmp/rwlock.lock")),
        pytest.raises(EnvironmentFault, match="another DVC is at it"),
    ):
        dvc_command(project)
    assert file.exists()


@pytest.mark.slow
def test_dvc_goes_on_where_it_refused(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text("stages:\n  a:\n    cmd: echo 1 > a\n    outs: [a]\n")
    assert dvc(Project(tmp_path), "init", "--no-scm", "--quiet") == 0
    (tmp_path / ".dvc/tmp/rwlock").touch()
    alone = [sys.executable, "-m", "dvc", "repro"]
    assert subprocess.run(alone, cwd=tmp_path, capture_output=True, check=False).returncode != 0
    assert dvc(Project(tmp_path), "repro", "--quiet") == 0
    assert (tmp_path / "a").read_text() == "1\n"


HIT = """
import os, signal, sys
class Hit:
    def find_spec(name, *_):
        if name == os.environ["HIT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Hit)
"""


@pytest.mark.parametrize(
    ("program", "module", "code"),
    [
        ("stage", "flows.cli.app", 130),
        ("stage", "typer", 130),
        ("dvc", "dvc.cli", -signal.SIGINT),
        ("dvc", "dvc.log", -signal.SIGINT),
    ],
)
def test_ctrl_c_while_a_child_begins_says_nothing(
    project: Project, program: str, module: str, code: int
) -> None:
    (project.root / "sitecustomize.py").write_text(HIT)
    path = os.pathsep.join((str(project.root), *sys.path[1:]))
    command = {
        "stage": (sys.executable, "-m", "flows.cli.main", "stage", "report"),
        "dvc": (*dvc_command(project), "--version"),
    }
    environment = {**os.environ, "PYTHONPATH": path, "HIT_AT": module, OUTCOMES: os.devnull}
    done = subprocess.run(
        command[program],
        cwd=project.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
