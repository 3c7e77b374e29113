"""One refresh: new questions for a period, the whole pipeline on them, and what moved since.

``python -m flows.refresh.refresh [--period 2026-11-23T0300Z]`` runs one by hand; ``python -m flows.refresh.serve``
runs them on the schedule. Everything happens in a clone of the committed project, and ends as a
commit on ``operations.refresh.branch``. One refresh runs at a time; another waits for it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from flows.files import write_text
from flows.params import Params, load_params
from flows.project import Project, find_project
from flows.refresh import clone as clones
from flows.refresh.history import COMPARABLE, RefreshRecord, Status, add_rows, page, reasons_of
from flows.refresh.periods import last_fire, moment_of, name_of, seed_of
from flows.stages.bench import exits
from flows.stages.metrics import read_domain
from flows.stages.reasons import Reason, listening
from simulrag.errors import CallsPending, InputError, SimulRAGError
from simulrag.metrics.data import DomainData
from simulrag.metrics.drift import Change, Sample, compare, resamples_for, sample

_OF_ERRORS: dict[str, Status] = {
    "BudgetSpent": "out_of_budget",
    "BudgetMissing": "out_of_budget",
    "CoverageFailed": "coverage_failed",
}


def refresh_period(
    project: Project, period: str, lock: int, source: str | None = None
) -> RefreshRecord:
    """Run the refresh of a period and commit its result.

    ``lock``: what ``alone`` gave. ``source``: the commit to take code and parameters from (what is
    checked out). Raises CallsPending where a batch is to be waited for, and other SimulRAGErrors
    where the machine, git or the remote fail; such a period is not over, ``unfinished`` names it.
    """
    moment_of(period)
    origin = source or clones.source_commit(project)
    _note(project, period, origin)
    settings = load_params(project.params).operations.refresh
    tip = clones.branch_tip(project, settings.branch)
    earlier = [p for p in clones.pasts(project, settings.branch) if p.period < period]
    base = next((past for past in earlier if past.status in COMPARABLE), None)
    clone = clones.make(project, base.commit if base else origin)
    clones.bring_data(clone)
    before = _measured(clone, load_params(clone.params)) if base else {}
    lock_of = base.commit if base else None
    clones.set_source(clone, origin, tip, lock_of)
    seed = seed_of(period, load_params(clone.params).benchmark.seed)
    budget = clones.budget_values(settings.budget.usd, settings.budget.tokens, period)
    clones.set_params(clone, {"benchmark.seed": seed, **budget})
    params = load_params(clone.params)
    clones.share_calls(project, clone)
    with listening() as told:
        code = clones.run_pipeline(clone, told.environment, lock)
        reasons = told.reasons()
    if code == CallsPending.exit_code:
        raise CallsPending(f"refresh {period}: its calls wait for a batch; it goes on after that")
    changes: list[Change] = []
    if code == 0 and base is not None:
        changes = _compare(params, before, _measured(clone, params))
    dropped = reasons_of(changes)
    record = RefreshRecord(
        period=period,
        status=_status(code, reasons, dropped),
        seed=seed,
        source=origin,
        domains=tuple(params.domains),
        compared_with=base.period if base else None,
        changes=tuple(changes),
        reasons=dropped or (tuple(r.text for r in reasons) if code else ()),
    )
    add_rows(clone, record)
    differences = []
    if base is not None:
        for what, title in (("metrics", "Metrics"), ("params", "Parameters")):
            table = clones.difference(clone, what, base.commit).replace(base.commit, base.period)
            differences.append((f"{title} since {base.period} (`dvc {what} diff`)", table))
    write_text(page_file(clone), page(record, differences))
    clones.push_data(clone)
    message = f"{clones.SUBJECT} {period}: {record.status}"
    clones.commit(project, clone, settings.branch, message, source=origin)
    _note_file(project).unlink(missing_ok=True)
    return record


def page_file(project: Project) -> Path:
    """The last refresh for people."""
    return project.results.metrics / "refresh.md"


def done_periods(project: Project) -> list[str]:
    """The periods on the branch, newest first, however they ended."""
    branch = load_params(project.params).operations.refresh.branch
    return [past.period for past in clones.pasts(project, branch)]


def unfinished(project: Project) -> tuple[str, str] | None:
    """The period and the source of a refresh that began and was not committed, if any."""
    try:
        note = json.loads(_note_file(project).read_text(encoding="utf-8"))
        return str(note["period"]), str(note["source"])
    except (OSError, ValueError, KeyError):
        return None


@contextmanager
def alone(project: Project) -> Iterator[int]:
    """The lock, as a file descriptor: wait for a refresh that runs, and keep others waiting.

    It is the kernel's, and free as soon as whoever held it and the pipeline that it started are
    gone, whatever killed them.
    """
    path = _lock_file(project)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write("another refresh of this project runs; waiting for its end\n")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()


def _measured(clone: Project, params: Params) -> dict[str, DomainData]:
    """What is counted of the domains whose outs are there."""
    place = clone.results
    return {
        domain: read_domain(place, domain, params.metrics)
        for domain in params.domains
        if all(
            file.is_file()
            for file in (
                *(place.benchmark(domain), place.answers(domain)),
                *(place.labels(domain), place.final_claims(domain)),
            )
        )
    }


def _compare(
    params: Params, before: dict[str, DomainData], after: dict[str, DomainData]
) -> list[Change]:
    alpha = params.operations.refresh.alpha
    resamples = resamples_for(len(after), alpha, params.metrics.bootstrap)

    def samples(sides: dict[str, DomainData], which: str) -> dict[str, Sample]:
        return {
            domain: sample(data, resamples=resamples, stream=f"{domain}/{which}")
            for domain, data in sides.items()
        }

    return compare(samples(before, "before"), samples(after, "after"), alpha)


def _status(code: int, reasons: list[Reason], dropped: tuple[str, ...]) -> Status:
    if code == 0:
        return "regressed" if dropped else "completed"
    named = [_OF_ERRORS[reason.kind] for reason in reasons if reason.kind in _OF_ERRORS]
    return named[0] if named else "failed"


def _note(project: Project, period: str, source: str) -> None:
    write_text(_note_file(project), json.dumps({"period": period, "source": source}))


def _note_file(project: Project) -> Path:
    return clones.home(project) / "unfinished.json"


def _lock_file(project: Project) -> Path:
    return clones.home(project) / "lock"


def main() -> None:
    """Run a refresh by hand, also of a period that is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--period", help="when it began, such as 2026-11-23T0300Z (the current)")
    given = parser.parse_args().period
    project = find_project()
    settings = load_params(project.params).operations.refresh
    period = given or name_of(last_fire(settings, datetime.now(UTC)))
    if moment_of(period) > datetime.now(UTC):
        raise InputError(f"period {period} has not begun; give one that has")
    with alone(project) as lock:
        record = refresh_period(project, period, lock)
    sys.stdout.write(f"refresh {period}: {record.status} (branch {settings.branch})\n")
    if record.status != "completed":
        raise SimulRAGError("; ".join(record.reasons) or "the pipeline failed; its words are above")


if __name__ == "__main__":
    raise SystemExit(exits(main))
