"""Copies of this project in a temporary folder, small enough to run whole."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from flows.cli.lineage import lineage
from flows.project import Project

ROOT = Path(__file__).resolve().parents[2]
FILES = ("params.yaml", "dvc.yaml", "prices.yaml", "data/labels/human.jsonl")
FOLDERS = ("flows", "simulators", "simulrag", "prompts", "data/published")


def copy_project(folder: Path, **changes: Any) -> Path:
    """The project's code and parameters in ``folder``; ``changes`` are dotted params keys.

    Urban alone, unless ``domains`` is changed: one domain takes every stage's path.
    """
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in FOLDERS:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    params = yaml.safe_load((folder / "params.yaml").read_text())
    for dotted, value in {"domains": ["urban"], **changes}.items():
        *path, last = dotted.split(".")
        place = params
        for part in path:
            place = place[part]
        place[last] = value
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    (folder / "dvc.yaml").write_text(_lineage(tuple(params["domains"])))
    return folder


@cache
def _lineage(domains: tuple[str, ...]) -> str:
    """This project's dvc.yaml for other domains."""
    return lineage(Project(ROOT), list(domains))


def run(
    project: Path, *command: str, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a project with this interpreter first on PATH and no Prefect settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    done = subprocess.run(
        command,
        cwd=project,
        env={
            **kept,
            "PATH": path,
            "DVC_NO_ANALYTICS": "1",
            "PYTHONPATH": str(project),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if check:
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def dvc(project: Path, *arguments: str) -> str:
    """A DVC command's output."""
    done = run(project, sys.executable, "-m", "dvc", *arguments)
    return done.stdout + done.stderr


def stats(project: Path) -> dict[str, Any]:
    """``simulrag cache stats --json``."""
    done = run(project, sys.executable, "-m", "flows.cli.app", "cache", "stats", "--json")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def outs(project: Path) -> dict[str, str]:
    """The hash of every file that the pipeline made."""
    files = (p for p in sorted((project / "data").rglob("*")) if p.is_file())
    return {
        str(p.relative_to(project)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in files
        if p.name != ".gitignore"
    }
