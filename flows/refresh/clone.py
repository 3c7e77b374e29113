"""The checkout that a refresh works in: a clone of the project, made anew for every refresh.

The user's own files are not touched while a refresh runs, and a killed one leaves nothing that the
next has to repair. The clone shares what costs time or money to make: git's objects, DVC's cache
and the call cache, which has every call and simulator run of a refresh that did not end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter

from flows.params import load_params
from flows.refresh.periods import moment_of
from flows.project import Project
from simulrag.errors import EnvironmentFault, InputError

KEPT = ("dvc.lock", "data/metrics/history.csv")
"""Files that go from one refresh to the next."""
COMMITTED = ("params.yaml", "dvc.yaml", *KEPT, "data/metrics/refresh.md")
SUBJECT = "Refresh"
"""A commit's subject is this word, the period with a colon, and the status."""


class _Representer(RoundTripRepresenter):
    """Writes null as it is written in params.yaml, so that a diff shows what changed alone."""


def _null(representer: RoundTripRepresenter, _: None) -> ScalarNode:
    node: ScalarNode = representer.represent_scalar("tag:yaml.org,2002:null", "null")
    return node


_Representer.add_representer(type(None), _null)


@dataclass(frozen=True)
class Past:
    """A refresh on the branch: its commit, and what it ended as."""

    commit: str
    period: str
    status: str


def home(project: Project) -> Path:
    """Where refreshes keep what is not for git: the clone, the lock, the note of what runs."""
    return project.root / ".cache" / "refresh"


def source_commit(project: Project) -> str:
    """What the project has checked out. Uncommitted changes take no part in a refresh."""
    return _git(project.root, "rev-parse", "--verify", "HEAD^{commit}").strip()


def branch_tip(project: Project, branch: str) -> str | None:
    """The branch's commit, or None where no refresh was yet."""
    found = _run(project.root, ["git", "rev-parse", "--verify", "-q", f"refs/heads/{branch}"])
    return found.stdout.strip() or None


def pasts(project: Project, branch: str) -> list[Past]:
    """The refreshes on the branch, newest first; of one period the newest alone."""
    if branch_tip(project, branch) is None:
        return []
    log = _git(project.root, "log", "--first-parent", "--format=%H %s", f"refs/heads/{branch}")
    found: dict[str, Past] = {}
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        words = subject.split()
        if len(words) == 3 and words[0] == SUBJECT:
            past = Past(commit, words[1].rstrip(":"), words[2])
            found.setdefault(past.period, past)
    return sorted(found.values(), key=lambda past: past.period, reverse=True)


def make(project: Project, commit: str) -> Project:
    """A new clone at a commit, with the project's caches and DVC settings."""
    folder = home(project) / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _git(folder.parent, "clone", "-q", "--shared", "--no-checkout", str(project.root), folder.name)
    _git(folder, "checkout", "-q", "--detach", commit)
    _share_dvc(project.root, folder)
    return Project(folder)


def has_remote(project: Project) -> bool:
    """Whether DVC has anywhere to pull from and push to."""
    return bool(_checked(project.root, _dvc("remote", "list")).strip())


def bring_data(clone: Project) -> None:
    """The outs of the lock: from the remote where there is one, else from this machine's cache."""
    if has_remote(clone):
        _checked(clone.root, _dvc("pull", "-q", "--allow-missing"))
    else:
        # What this machine does not have is made again; it is no reason to stop.
        _run(clone.root, _dvc("checkout", "-q", "--allow-missing"))


def set_source(clone: Project, source: str, tip: str | None, lock_of: str | None) -> None:
    """Have the source's files in the clone, and of the branch what goes from one to the next.

    ``lock_of``: the refresh whose outs are there and whose lock says so.
    """
    _git(clone.root, "read-tree", "-u", "--reset", source)
    for name, commit in zip(KEPT, (lock_of, tip), strict=True):
        if (
            commit is not None
            and _run(clone.root, ["git", "cat-file", "-e", f"{commit}:{name}"]).returncode == 0
        ):
            _git(clone.root, "checkout", "-q", commit, "--", name)


def set_params(clone: Project, values: Mapping[str, object]) -> None:
    """Write dotted keys into the clone's params.yaml; comments and order stay."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 1000
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(clone.params.read_text(encoding="utf-8"))
    for dotted, value in values.items():
        *path, last = dotted.split(".")
        place = document
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    with clone.params.open("w", encoding="utf-8") as handle:
        yaml.dump(document, handle)


def share_calls(project: Project, clone: Project) -> None:
    """Let the clone use the project's call cache; a link does, where its address is relative."""
    address = load_params(clone.params).operations.cache
    if "://" in address:
        return
    path = address.removeprefix("diskcache:")
    if Path(path).is_absolute():
        return
    ours, theirs = project.root / path, clone.root / path
    ours.mkdir(parents=True, exist_ok=True)
    theirs.parent.mkdir(parents=True, exist_ok=True)
    if not theirs.exists():
        theirs.symlink_to(ours.resolve(), target_is_directory=True)


def run_pipeline(clone: Project, environment: Mapping[str, str], lock: int) -> int:
    """``simulrag run`` in the clone, by the clone's own code; its exit code.

    The process inherits ``lock``, a file descriptor: should this one be killed, its children are
    still at work in the clone, and hold the lock for as long.
    """
    command = [sys.executable, "-m", "flows.cli.app", "run"]
    return subprocess.run(
        command,
        cwd=clone.root,
        env={**os.environ, **environment},
        pass_fds=[lock],
        stdin=subprocess.DEVNULL,
        check=False,
    ).returncode


def difference(clone: Project, what: str, commit: str) -> str:
    """``dvc metrics diff`` or ``dvc params diff`` from a commit to the files, as Markdown."""
    return _checked(clone.root, _dvc(what, "diff", "--md", commit)).strip()


def push_data(clone: Project) -> bool:
    """Push the outs and exports; False where there is no remote."""
    if not has_remote(clone):
        return False
    _checked(clone.root, _dvc("push", "-q"))
    return True


def commit(project: Project, clone: Project, branch: str, message: str, *, source: str) -> str:
    """Commit the lock, the parameters and the metrics on the branch; the commit.

    Its parents are the branch's last commit and the source, so the branch shows what each refresh
    was made from. The branch is only ever moved forward: a refresh pushed meanwhile stops this one.
    """
    folder = clone.root
    metrics = [str(p.relative_to(folder)) for p in folder.glob("data/metrics/*.json")]
    files = [name for name in (*COMMITTED, *metrics) if (folder / name).is_file()]
    _git(folder, "add", "-f", "--", *files)
    tree = _git(folder, "write-tree").strip()
    tip = branch_tip(project, branch)
    parents = [parent for parent in (tip, source) if parent is not None]
    named = [argument for parent in dict.fromkeys(parents) for argument in ("-p", parent)]
    made = _git(folder, *_author(project.root), "commit-tree", tree, *named, "-m", message).strip()
    _git(folder, "push", "-q", "origin", f"{made}:refs/heads/{branch}")
    return made


def budget_values(usd: float | None, tokens: int | None, period: str) -> dict[str, object]:
    """What operations.budget is for one refresh, or nothing where no limit is its own."""
    if usd is None and tokens is None:
        return {}
    since = moment_of(period).date()
    return {"operations.budget": {"usd": usd, "tokens": tokens, "since": since}}


def _share_dvc(root: Path, folder: Path) -> None:
    """The project's DVC settings, its cache, and the paths of its remotes from where they lie."""
    local = root / ".dvc" / "config.local"
    if local.is_file():
        shutil.copy(local, folder / ".dvc" / "config.local")
    cache = _checked(root, _dvc("cache", "dir")).strip()
    _checked(folder, _dvc("config", "--local", "cache.dir", cache))
    from dvc.config import Config  # not `dvc remote list`, which breaks long lines

    for name, remote in Config(str(root / ".dvc"))["remote"].items():
        url = str(remote["url"])
        if "://" not in url and Path(url).is_absolute():
            _checked(folder, _dvc("remote", "modify", "--local", name, "url", url))


def _author(root: Path) -> list[str]:
    """The project's own git identity, else one that says what this is."""
    settings: list[str] = []
    for key, default in (("user.name", "SimulRAG refresh"), ("user.email", "refresh@localhost")):
        value = _run(root, ["git", "config", key]).stdout.strip() or default
        settings += ["-c", f"{key}={value}"]
    return settings


def _dvc(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dvc", *arguments]


def _git(folder: Path, *arguments: str) -> str:
    return _checked(folder, ["git", *arguments])


def _checked(folder: Path, command: Sequence[str]) -> str:
    done = _run(folder, command)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[-300:]
        shown = " ".join(command[command.index("dvc") if "dvc" in command else 0 :][:3])
        if "not a git repository" in said:
            raise InputError("a refresh commits its results: the project must be a git repository")
        raise EnvironmentFault(f"`{shown}` failed in {folder}: {said}")
    return done.stdout


def _run(folder: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "DVC_NO_ANALYTICS": "1"},
            check=False,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise EnvironmentFault(f"{command[0]} cannot be started: {error.strerror}") from None
