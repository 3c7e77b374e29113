"""git and DVC of a project, as a refresh uses them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flows.outcomes import run_child
from flows.pipeline import dvc_config
from flows.project import Project
from simulrag.errors import EnvironmentFault, InputError


@contextmanager
def worktree(project: Project, commit: str) -> Iterator[Project]:
    """A commit of the project in a folder of its own, with the project's DVC cache."""
    git(project, "worktree", "prune")  # of one that was killed, and its folder deleted
    with tempfile.TemporaryDirectory(prefix="simulrag-refresh-") as folder:
        work = Project(Path(folder) / "work")
        git(project, "worktree", "add", "-q", "--detach", str(work.root), commit)
        try:
            dvc(work, "config", "--local", "cache.dir", str(_cache(project)))
            yield work
        finally:
            git(project, "worktree", "remove", "--force", str(work.root))


def _cache(project: Project) -> Path:
    """The folder of DVC's cache."""
    return Path(dvc_config(project)["cache"].get("dir") or project.root / ".dvc" / "cache")


def push(project: Project, work: Project) -> None:
    """Bring a branch's outs to the project's remotes, where it has any.

    From the branch's files and not by ``revs``: DVC then takes a remote's relative path from /.
    """
    from dvc.repo import Repo

    config = dvc_config(project)
    remotes = {name: dict(remote) for name, remote in config["remote"].items()}
    if not remotes:
        return
    own = {"core": {"no_scm": True}, "cache": {"dir": str(_cache(project))}, "remote": remotes}
    with Repo(str(work.root), config=own) as repo:
        repo.push()


def author(project: Project) -> list[str]:
    """The project's own git identity, else one that says what this is."""
    settings: list[str] = []
    for key, default in (("user.name", "SimulRAG refresh"), ("user.email", "refresh@localhost")):
        done = _run(project, ["git", "config", key])
        settings += ["-c", f"{key}={done.stdout.strip() or default}"]
    return settings


def shown(project: Project, branch: str, name: str) -> str:
    """A file of a branch, or nothing."""
    done = _run(project, ["git", "show", f"{branch}:{name}"])
    return done.stdout if done.returncode == 0 else ""


def git(project: Project, *arguments: str) -> str:
    """What git says. Raises InputError outside a repository, EnvironmentFault where it fails."""
    return _checked(project, ["git", *arguments])


def dvc(project: Project, *arguments: str) -> str:
    """What DVC says. Raises EnvironmentFault where it fails."""
    return _checked(project, [sys.executable, "-m", "dvc", *arguments])


def _checked(project: Project, command: list[str]) -> str:
    done = _run(project, command)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[-300:]
        if "not a git repository" in said:
            raise InputError("a refresh ends as a branch: the project must be a git repository")
        raise EnvironmentFault(f"`{' '.join(command[-4:])}` failed in {project.root}: {said}")
    return done.stdout


def _run(project: Project, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return run_child(project.root, *command, capture_output=True, stdin=subprocess.DEVNULL)
