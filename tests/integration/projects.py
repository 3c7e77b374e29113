"""Copies of this project in a temporary folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from flows.files import write_records
from flows.params import ROLES
from simulrag.records import Question
from simulrag.testing import LoopbackServer

ROOT = Path(__file__).resolve().parents[2]
KEPT = (
    "data/labels/human.jsonl",
    "data/routing/none.jsonl",
)
PARAMS = ROOT / "tests/params.yaml"
HELD = (file.relative_to(ROOT).as_posix() for file in (ROOT / "data").glob("*/.gitkeep"))
FILES = ("dvc.yaml", ".dvcignore", "prices.yaml", *{*KEPT, *HELD})
FOLDERS = ("flows", "simulators", "simulrag", "rooms", "prompts", "data/published", "data/recorded")
SIMULRAG = (sys.executable, "-m", "flows.cli.main")


def copy_project(folder: Path, **changes: Any) -> Path:
    """The project's code in ``folder``, with the parameters of tests; ``changes``: dotted keys.

    Urban only, unless ``domains`` is changed: one domain takes every stage's path. Code and
    recorded calls are hard links; no test writes into them.
    """
    folder.mkdir(parents=True)
    shutil.copy(PARAMS, folder / "params.yaml")
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in FOLDERS:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignore, copy_function=_link)
    change_params(folder, **changes)
    return folder


def copy_finished(finished: Path, folder: Path, **changes: Any) -> Path:
    """A project that ran (the fixture ``finished``), to change; outs are hard links.

    Outs are replaced and never written into, so the links are safe; the call cache is copied.
    """
    shutil.copytree(finished, folder, copy_function=_link, symlinks=True)
    for name in (".cache", ".dvc"):
        if (finished / name).is_dir():
            shutil.rmtree(folder / name)
            shutil.copytree(finished / name, folder / name, symlinks=True)
    for name in ("params.yaml", "dvc.lock"):
        if (finished / name).is_file():
            (folder / name).unlink()
            shutil.copy(finished / name, folder / name)
    change_params(folder, **changes)
    return folder


def write_questions(project: Path, *texts: str) -> Path:
    """The urban benchmark: questions q0 and on, each of a scenario of its own."""
    file = project / "data/benchmark/urban.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)  # a link perhaps
    asked = (
        Question(
            question_id=f"q{i}",
            domain="urban",
            text=text,
            reference_answer="",
            scenario_id=f"s{i}",
        )
        for i, text in enumerate(texts)
    )
    write_records(file, asked)
    return file


def stub_model(url: str, **more: Any) -> dict[str, Any]:
    """The section of a model that the test double behind ``url`` plays."""
    return {
        "provider": "openai",
        "model": "stub",
        "base_url": url,
        "sampling": {"seed": 0},
        **more,
    }


def stub_roles(url: str) -> dict[str, Any]:
    """Changes of parameters: the test double plays every model."""
    return {f"llm.{role}": stub_model(url) for role in ROLES}


def start_answers(project: Path, **environment: str) -> subprocess.Popen[str]:
    """The answer stage over ``write_questions``' file, as a process of its own."""
    return subprocess.Popen(
        [*SIMULRAG, "stage", "answer", "--domain", "urban"],
        cwd=project,
        env=environment_of(project, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_requests(server: LoopbackServer, count: int) -> None:
    """Wait until a model's server was asked so often."""
    deadline = time.monotonic() + 120
    while len(server.requests) < count:
        assert time.monotonic() < deadline, "the stage did not come so far"
        time.sleep(0.02)


def change_params(project: Path, **changes: Any) -> None:
    """Write dotted keys into a project's params.yaml."""
    params = yaml.safe_load((project / "params.yaml").read_text())
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        place = params
        for part in path:
            place = place[part]
        place[last] = value
    (project / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def run(
    project: Path, *command: str, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a project with this interpreter first on PATH and no Prefect settings."""
    done = subprocess.run(
        command,
        cwd=project,
        env=environment_of(project, **environment),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if check:
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def environment_of(project: Path, **environment: str) -> dict[str, str]:
    """The environment that a project's commands are run in."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    own = {"PATH": path, "DVC_NO_ANALYTICS": "1", "PYTHONPATH": str(project)}
    return {**kept, **own, **environment}


def simulrag(
    project: Path, *arguments: str, check: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command of ours, as a process of its own."""
    return run(project, *SIMULRAG, *arguments, check=check, **environment)


def dvc(project: Path, *arguments: str) -> str:
    """A DVC command's output."""
    done = run(project, sys.executable, "-m", "dvc", *arguments)
    return done.stdout + done.stderr


def git_project(project: Path) -> None:
    """Put a project into git, with a folder beside it as DVC's remote."""
    for name in (".gitignore", "data/.gitignore"):
        shutil.copy(ROOT / name, project / name)
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Somebody")
    git(project, "config", "user.email", "somebody@example.com")
    dvc(project, "init", "-q")
    dvc(project, "remote", "add", "-d", "store", "../store")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Start")


def git(project: Path, *arguments: str) -> str:
    """A git command's output."""
    return run(project, "git", *arguments).stdout.strip()


def stats(project: Path) -> dict[str, Any]:
    """``simulrag cache stats --json``."""
    parsed: dict[str, Any] = json.loads(
        simulrag(project, "cache", "stats", "--json", check=True).stdout
    )
    return parsed


def outs(project: Path) -> dict[str, str]:
    """The hash of every file that the pipeline made."""
    files = (p for p in sorted((project / "data").rglob("*")) if p.is_file())
    return {
        str(p.relative_to(project)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in files
        if p.name != ".gitignore"
    }


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
