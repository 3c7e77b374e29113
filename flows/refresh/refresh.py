"""One refresh: new questions for a period, the whole pipeline on them, and what moved since.

``simulrag refresh`` runs one by hand; ``simulrag serve`` runs them on the schedule. The
pipeline runs in a worktree of its own, with the project's two caches, so that a refresh that was
killed is run again without a call repeated. It ends as a branch,
``<operations.refresh.branch>-<period>``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flows.files import check_folder, write_text
from flows.params import Params, load_params
from flows.params_file import changed
from flows.pipeline import StageOutcomes, dvc_command, dvc_config, gathered, run_child, said_child
from flows.project import Project, Results
from flows.refresh.lock import locked
from flows.refresh.periods import (
    COMPARABLE,
    RefreshRecord,
    Status,
    moment_of,
    page,
    reasons_of,
    rows_in,
    rows_of,
    seed_of,
    trend,
    with_rows,
)
from flows.stages.metrics import read_domain
from flows.stages.report import write as write_report
from flows.watch.tracking import PERIOD
from simulrag.errors import CallsPending, EnvironmentFault, InputError
from simulrag.metrics.domain import DomainData
from simulrag.metrics.headline import Change, Sample, compare, resamples_for, sample

_OF_ERRORS: dict[str, Status] = {
    "BudgetSpent": "out_of_budget",
    "BudgetMissing": "out_of_budget",
    "CoverageFailed": "coverage_failed",
    "CoverageShort": "coverage_failed",
}
SUBJECT = "Refresh"
"""A commit's subject is this word, the period with a colon, and the status."""
HISTORY = "data/metrics/history.csv"
PAGE = "data/metrics/refresh.md"


@dataclass(frozen=True)
class Past:
    """A refresh that came through: its branch, its period and what it ended as."""

    branch: str
    period: str
    status: str


def refresh_period(project: Project, period: str) -> RefreshRecord:
    """Run the refresh of a period; its branch has the questions, the lock and the comparison.

    Its report is kept in ``reports/PERIOD``. A pipeline that fails makes no branch. Raises
    CallsPending where a batch is to be waited for, InputError where the roles only replay, Held
    where another process makes the period.
    """
    moment_of(period)
    params = load_params(project.params)
    check_models(params)
    with locked(project, period, f"period {period} is being made"):
        return _made(project, params, period)


def _made(project: Project, params: Params, period: str) -> RefreshRecord:
    source = git(project, "rev-parse", "HEAD").strip()
    earlier = [past for past in pasts(project, params) if past.period < period]
    base = next((past for past in earlier if past.status in COMPARABLE), None)
    with worktree(project, source) as work:
        with gathered() as outcomes:
            code = _run_pipeline(project, work, params, period)
            status, reasons = _failure(code, outcomes, period)
        changes: list[Change] = []
        if code == 0:
            if base is not None:
                changes = _compare(project, params, base.branch, work)
            reasons = reasons_of(changes)
            status = "regressed" if reasons else "completed"
        record = RefreshRecord(
            period=period,
            status=status,
            seed=seed_of(period, params.benchmark.seed),
            source=source,
            domains=tuple(params.domains),
            compared_with=base.period if base else None,
            changes=tuple(changes),
            reasons=reasons,
        )
        if code == 0:
            _write_branch(project, work, params, record, base)
            _keep_report(project, work, period)
    return record


def branch_of(params: Params, period: str) -> str:
    """Return the branch of a period's refresh."""
    return f"{params.operations.refresh.branch}-{period}"


def check_models(params: Params) -> None:
    """Raise InputError where a role only replays: new questions are in no recording."""
    replayed = [f"llm.{role}" for role, model in params.llm if model.replay]
    if replayed:
        raise InputError(
            f"a refresh asks new questions, and recorded calls are all there is for "
            f"{', '.join(replayed)} (replay); name a model of your own there: `simulrag use "
            "--for-benchmark` writes all three roles, without it only llm.answer and llm.judge"
        )


def end_of(project: Project, params: Params, record: RefreshRecord) -> str:
    """Tell how a refresh ended, and what there is of it, in a line."""
    words = f"refresh {record.period}: {record.status}"
    if record.status not in COMPARABLE:
        return words
    report = project.kept_report(record.period).relative_to(project.root)
    return f"{words} (branch {branch_of(params, record.period)}, report {report})"


def done_already(project: Project, params: Params, period: str) -> str | None:
    """Tell why a period is not run, in a line; None where it has no branch."""
    past = next((past for past in pasts(project, params) if past.period == period), None)
    if past is None:
        return None
    return (
        f"period {period} is done already: {past.status} (branch {past.branch}); "
        f"`simulrag refresh --period {period} --again` runs it on today's commit"
    )


def pasts(project: Project, params: Params) -> list[Past]:
    """Return the refreshes that have a branch, newest first."""
    prefix = f"refs/heads/{params.operations.refresh.branch}-"
    lines = git(project, "for-each-ref", "--format=%(refname) %(subject)", f"{prefix}*")
    refreshes = []
    for line in lines.splitlines():
        ref, _, subject = line.partition(" ")
        words = subject.split()
        if len(words) == 3 and words[0] == SUBJECT:
            branch = ref.removeprefix("refs/heads/")
            refreshes.append(Past(branch, words[1].rstrip(":"), words[2]))
    return sorted(refreshes, key=lambda past: past.period, reverse=True)


def refresh_params(params: Params, period: str) -> dict[str, object]:
    """Return what a refresh changes in params.yaml: the seed, and its budget from its day on."""
    values: dict[str, object] = {
        "benchmark.seed": seed_of(period, params.benchmark.seed),
    }
    budget = params.operations.refresh.budget
    if budget.usd is not None or budget.tokens is not None:
        since = moment_of(period).date().isoformat()
        values |= {
            "operations.budget.usd": budget.usd,
            "operations.budget.tokens": budget.tokens,
            "operations.budget.since": since,
        }
    return values


def _run_pipeline(project: Project, work: Project, params: Params, period: str) -> int:
    """``dvc repro`` in the worktree, with the project's call cache; its exit code."""
    values = refresh_params(params, period)
    place = params.operations.cache
    if "://" not in place:  # a relative one is the project's
        values["operations.cache"] = str(project.root / place.removeprefix("diskcache:"))
    write_text(work.params, changed(project.params, values))
    return said_child(work.root, *dvc_command(work), "repro", environment={PERIOD: period})


def _failure(code: int, outcomes: StageOutcomes, period: str) -> tuple[Status, tuple[str, ...]]:
    """Tell what a pipeline ended as, and why; ("completed", nothing) where it came through."""
    if code == 0:
        return "completed", ()
    if outcomes.only_pending():
        raise CallsPending(f"refresh {period}: its calls wait for a batch; it goes on after that")
    errors = outcomes.errors()
    named = [_OF_ERRORS[end.error] for end in errors if end.error in _OF_ERRORS]
    return (named[0] if named else "failed"), tuple(end.text for end in errors)


def _compare(project: Project, params: Params, before: str, work: Project) -> list[Change]:
    """Tell what moved from a branch to the worktree."""
    alpha = params.operations.refresh.alpha
    resamples = resamples_for(len(params.domains), alpha, params.metrics.bootstrap)

    def samples(measured: Iterable[DomainData], which: str) -> dict[str, Sample]:
        return {
            data.domain: sample(data, resamples=resamples, stream=f"{data.domain}/{which}")
            for data in measured
        }

    after = (
        read_domain(work.results, domain, params.metrics, params.answer)
        for domain in params.domains
    )
    measured = _measured(project, params, before)
    return compare(samples(measured, "before"), samples(after, "after"), alpha)


def _measured(project: Project, params: Params, branch: str) -> Iterator[DomainData]:
    """Yield what is to be measured of a branch's domains, from DVC's cache or its remote."""
    from dvc.api import DVCFileSystem

    store = DVCFileSystem(str(project.root), rev=branch)
    with tempfile.TemporaryDirectory() as folder:
        place = Results(Path(folder) / "data")
        for domain in params.domains:
            files = (
                *(place.benchmark(domain), place.answers(domain)),
                *(place.labels(domain), place.final_claims(domain), place.human_labels),
            )
            names = [str(file.relative_to(folder)) for file in files]
            if not all(map(store.exists, names)):
                continue
            for name, file in zip(names, files, strict=True):
                file.parent.mkdir(parents=True, exist_ok=True)
                store.get_file(name, str(file))
            yield read_domain(place, domain, params.metrics, params.answer)


def _write_branch(
    project: Project, work: Project, params: Params, record: RefreshRecord, base: Past | None
) -> None:
    """Make a branch of the lock, params.yaml as a user would write it, the page and the history."""
    branch = branch_of(params, record.period)
    values = refresh_params(params, record.period)
    write_text(work.params, changed(project.params, values))
    commit = (*author(project), "commit", "-q", "--no-verify", "-m")
    message = f"{SUBJECT} {record.period}: {record.status}"
    branched = ("update-ref", f"refs/heads/{branch}", "HEAD")
    git(work, "add", "-f", "--", "dvc.lock", "params.yaml")
    git(work, *commit, message)
    git(work, *branched)
    differences, history = [], ""
    if base is not None:
        table = dvc(project, "metrics", "diff", "--md", base.branch, branch)
        differences = [(f"Metrics since {base.period} (`dvc metrics diff`)", table.strip())]
        history = shown(project, base.branch, HISTORY)
    rows = rows_of(record, work.results.metrics)
    history = with_rows(history, record.period, rows)
    if bars := trend(rows_in(history)):
        differences.insert(0, ("The periods so far, the newest last", bars))
    write_text(work.root / HISTORY, history)
    write_text(work.root / PAGE, page(record, rows, differences))
    git(work, "add", "-f", "--", HISTORY, PAGE)
    git(work, *commit, message, "--amend")
    git(work, *branched)
    push(project, work)


def _keep_report(project: Project, work: Project, period: str) -> None:
    """Copy the report, with the history so far, and the page to where people open them."""
    history = rows_in((work.root / HISTORY).read_text(encoding="utf-8"))
    write_report(work, load_params(work.params), work.results, history)
    folder = project.kept_report(period).parent
    shutil.rmtree(folder, ignore_errors=True)
    check_folder(folder.parent)
    shutil.copytree(work.results.report.parent, folder)
    shutil.copy(work.root / PAGE, folder)


@contextmanager
def worktree(project: Project, commit: str) -> Iterator[Project]:
    """Open a commit of the project in a folder of its own, with the project's two caches."""
    git(project, "worktree", "prune")  # of one that was killed, and its folder deleted
    with tempfile.TemporaryDirectory(prefix="simulrag-refresh-") as folder:
        work = Project(Path(folder) / "work")
        git(project, "worktree", "add", "-q", "--detach", str(work.root), commit)
        try:
            dvc(work, "config", "--local", "cache.dir", str(_cache(project)))
            check_folder(project.root / ".cache")
            (work.root / ".cache").symlink_to(project.root / ".cache")
            yield work
        finally:
            git(project, "worktree", "remove", "--force", str(work.root))


def _cache(project: Project) -> Path:
    """Return the folder of DVC's cache."""
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
    """Return the project's own git identity, else one that says what this is."""
    settings: list[str] = []
    for key, default in (("user.name", "SimulRAG refresh"), ("user.email", "refresh@localhost")):
        done = _run(project, ["git", "config", key])
        settings += ["-c", f"{key}={done.stdout.strip() or default}"]
    return settings


def shown(project: Project, branch: str, name: str) -> str:
    """Return a file of a branch, or nothing."""
    done = _run(project, ["git", "show", f"{branch}:{name}"])
    return done.stdout if done.returncode == 0 else ""


def git(project: Project, *arguments: str) -> str:
    """Return what git says.

    Raises InputError outside a repository, EnvironmentFault where it fails.
    """
    return _checked(project, ["git", *arguments])


def dvc(project: Project, *arguments: str) -> str:
    """Return what DVC says. Raises EnvironmentFault where it fails."""
    return _checked(project, [sys.executable, "-m", "dvc", *arguments])


def _checked(project: Project, command: list[str]) -> str:
    done = _run(project, command)
    if done.returncode != 0:
        reply = " ".join(done.stderr.split())[-300:]
        if "not a git repository" in reply:
            raise InputError("a refresh ends as a branch: the project must be a git repository")
        raise EnvironmentFault(f"`{' '.join(command[-4:])}` failed in {project.root}: {reply}")
    return done.stdout


def _run(project: Project, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return run_child(project.root, *command, capture_output=True, stdin=subprocess.DEVNULL)
