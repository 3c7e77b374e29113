"""One refresh: new questions for a period, the whole pipeline on them, and what moved since.

``simulrag refresh`` runs one by hand; ``simulrag serve`` runs them on the schedule. DVC runs the
pipeline as an experiment in a folder of its own (``dvc exp run --temp``), with the project's call
cache, so that a refresh that was killed is run again without a call repeated. It ends as a branch,
``<operations.refresh.branch>-<period>``. One refresh runs at a time; another waits for it.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flows.files import check_folder, write_text
from flows.outcomes import Gathered, gathered, said_child
from flows.params import Params, load_params
from flows.params_file import changed
from flows.project import Project, Results
from flows.refresh.history import (
    COMPARABLE,
    RefreshRecord,
    Status,
    page,
    reasons_of,
    rows_of,
    with_rows,
)
from flows.refresh.periods import moment_of, seed_of
from flows.refresh.repository import author, dvc, experiment, git, push, shown
from flows.stages.metrics import read_domain
from flows.watch.tracking import PERIOD, say
from simulrag.errors import CallsPending, InputError
from simulrag.metrics.domain import DomainData
from simulrag.metrics.drift import Change, Sample, compare, resamples_for, sample

_OF_ERRORS: dict[str, Status] = {
    "BudgetSpent": "out_of_budget",
    "BudgetMissing": "out_of_budget",
    "CoverageFailed": "coverage_failed",
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


def refresh_period(project: Project, period: str, lock: int) -> RefreshRecord:
    """Run the refresh of a period; its branch has the questions, the lock and the comparison.

    Its report is kept in ``reports/PERIOD``.
    ``lock``: what ``alone`` gave; the pipeline inherits it, and keeps others waiting for as long as
    it works, even where this process is killed. A pipeline that fails makes no branch. Raises
    CallsPending where a batch is to be waited for, InputError where the roles only replay.
    """
    moment_of(period)
    params = load_params(project.params)
    check_models(params)
    name = branch_of(params, period)
    seed = seed_of(period, params.benchmark.seed)
    source = git(project, "rev-parse", "HEAD").strip()
    _unfinished_file(project).write_text(period, encoding="utf-8")
    with gathered() as outcomes:
        code = _run_experiment(project, params, period, lock)
        status, reasons = _failure(code, outcomes, period)
    earlier = [past for past in pasts(project, params) if past.period < period]
    base = next((past for past in earlier if past.status in COMPARABLE), None)
    changes: list[Change] = []
    if code == 0:
        git(project, "branch", "-f", name, experiment(project, name))
        dvc(project, "exp", "remove", "-q", name)
        if base is not None:
            changes = _compare(project, params, base.branch, name)
        reasons = reasons_of(changes)
        status = "regressed" if reasons else "completed"
    record = RefreshRecord(
        period=period,
        status=status,
        seed=seed,
        source=source,
        domains=tuple(params.domains),
        compared_with=base.period if base else None,
        changes=tuple(changes),
        reasons=reasons,
    )
    if code == 0:
        _write_comparison(project, params, record, base)
        _keep_report(project, name, period)
    _unfinished_file(project).unlink()
    return record


def branch_of(params: Params, period: str) -> str:
    """The branch of a period's refresh."""
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
    """How a refresh ended, and what there is of it, in a line."""
    words = f"refresh {record.period}: {record.status}"
    if record.status not in COMPARABLE:
        return words
    report = project.kept_report(record.period).relative_to(project.root)
    return f"{words} (branch {branch_of(params, record.period)}, report {report})"


def done_already(project: Project, params: Params, period: str) -> str | None:
    """Why a period is not run, in a line; None where it has no branch, or began again."""
    past = next((past for past in pasts(project, params) if past.period == period), None)
    if past is None or unfinished(project) == period:
        return None
    return (
        f"period {period} is done already: {past.status} (branch {past.branch}); "
        f"`simulrag refresh --period {period} --again` runs it on today's commit"
    )


def pasts(project: Project, params: Params) -> list[Past]:
    """The refreshes that have a branch, newest first."""
    prefix = f"refs/heads/{params.operations.refresh.branch}-"
    lines = git(project, "for-each-ref", "--format=%(refname) %(subject)", f"{prefix}*")
    found = []
    for line in lines.splitlines():
        ref, _, subject = line.partition(" ")
        words = subject.split()
        if len(words) == 3 and words[0] == SUBJECT:
            branch = ref.removeprefix("refs/heads/")
            found.append(Past(branch, words[1].rstrip(":"), words[2]))
    return sorted(found, key=lambda past: past.period, reverse=True)


def unfinished(project: Project) -> str | None:
    """The period of a refresh that began and did not end, if any."""
    path = _unfinished_file(project)
    return path.read_text(encoding="utf-8").strip() or None if path.is_file() else None


@contextmanager
def alone(project: Project) -> Iterator[int]:
    """The lock, as a file descriptor: wait for a refresh that runs, and keep others waiting.

    It is the kernel's, and free as soon as whoever held it and the pipeline that it started are
    gone, whatever killed them.
    """
    with (_home(project) / "lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another refresh of this project runs; waiting for its end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()


def experiment_params(params: Params, period: str) -> dict[str, object]:
    """What a refresh changes in params.yaml: the seed, and its own budget, counted from its day."""
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


def _run_experiment(project: Project, params: Params, period: str, lock: int) -> int:
    """``dvc exp run`` in a temporary folder; the experiment has the branch's name."""
    name = branch_of(params, period)
    if experiment(project, name):  # left by one that was killed
        dvc(project, "exp", "remove", "-q", name)
    values = experiment_params(params, period)
    place = params.operations.cache
    path = place.removeprefix("diskcache:")
    if "://" not in place:  # that folder has a .cache of its own
        values["operations.cache"] = str(project.root / path)
    arguments = [argument for setting in overrides(values) for argument in ("-S", setting)]
    run = [sys.executable, "-m", "flows.refresh.experiment", "exp", "run", "--temp", "-n", name]
    told = {PERIOD: period}
    return said_child(project.root, *run, *arguments, environment=told, pass_fds=[lock])


def overrides(values: Mapping[str, object]) -> list[str]:
    """What ``dvc exp run -S`` takes, one for each dotted key."""
    texts = {key: "null" if value is None else repr(value) for key, value in values.items()}
    return [f"++{key}={text}" for key, text in texts.items()]


def _failure(code: int, outcomes: Gathered, period: str) -> tuple[Status, tuple[str, ...]]:
    """What a pipeline ended as, and why; ("completed", nothing) where it came through."""
    if code == 0:
        return "completed", ()
    if outcomes.only_pending():
        raise CallsPending(f"refresh {period}: its calls wait for a batch; it goes on after that")
    errors = outcomes.errors()
    named = [_OF_ERRORS[found.error] for found in errors if found.error in _OF_ERRORS]
    return (named[0] if named else "failed"), tuple(found.text for found in errors)


def _compare(project: Project, params: Params, before: str, after: str) -> list[Change]:
    alpha = params.operations.refresh.alpha
    resamples = resamples_for(len(params.domains), alpha, params.metrics.bootstrap)

    def samples(branch: str, which: str) -> dict[str, Sample]:
        return {
            data.domain: sample(data, resamples=resamples, stream=f"{data.domain}/{which}")
            for data in _measured(project, params, branch)
        }

    return compare(samples(before, "before"), samples(after, "after"), alpha)


def _measured(project: Project, params: Params, branch: str) -> Iterator[DomainData]:
    """What is to be measured of a branch's domains, from DVC's cache or its remote."""
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


def _write_comparison(
    project: Project, params: Params, record: RefreshRecord, base: Past | None
) -> None:
    """Commit the page, the history, and params.yaml as a user would write it, on the branch."""
    branch = branch_of(params, record.period)
    differences = []
    if base is not None:
        table = dvc(project, "metrics", "diff", "--md", base.branch, branch)
        differences = [(f"Metrics since {base.period} (`dvc metrics diff`)", table.strip())]
    with tempfile.TemporaryDirectory() as folder:
        work = Project(Path(folder) / "work")
        git(project, "worktree", "add", "-q", str(work.root), branch)
        try:
            values = experiment_params(params, record.period)
            write_text(work.params, changed(project.params, values))
            history = "" if base is None else shown(project, base.branch, HISTORY)
            rows = rows_of(record, work.results.metrics)
            write_text(work.root / HISTORY, with_rows(history, record.period, rows))
            write_text(work.root / PAGE, page(record, rows, differences))
            git(work, "add", "-f", "--", "params.yaml", HISTORY, PAGE)
            message = f"{SUBJECT} {record.period}: {record.status}"
            git(work, *author(project), "commit", "-q", "--no-verify", "-m", message)
            push(project, work)
        finally:
            git(project, "worktree", "remove", "--force", str(work.root))


def _keep_report(project: Project, branch: str, period: str) -> None:
    """Bring a branch's report and page out of DVC's cache and git, where people open them."""
    from dvc.api import DVCFileSystem

    folder = project.kept_report(period).parent
    shutil.rmtree(folder, ignore_errors=True)
    check_folder(folder.parent)
    store = DVCFileSystem(str(project.root), rev=branch)
    store.get("data/report", str(folder), recursive=True)
    write_text(folder / Path(PAGE).name, shown(project, branch, PAGE))


def _home(project: Project) -> Path:
    """Where refreshes keep the lock, and the note of what runs."""
    folder = project.root / ".cache" / "refresh"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _unfinished_file(project: Project) -> Path:
    return _home(project) / "unfinished"
