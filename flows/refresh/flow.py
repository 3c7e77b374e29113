"""The deployment's flow: the refreshes that are due, as states and an artifact of Prefect.

Prefect's environment is set by whoever starts this (``simulrag serve``, a worker), before the
import.
"""

from __future__ import annotations

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from typing import Any

from prefect import flow, runtime
from prefect.artifacts import create_markdown_artifact
from prefect.runner import Runner
from prefect.states import Completed, Failed

from flows.params import Params, load_params
from flows.project import Project, find_project
from flows.refresh.lock import Held
from flows.refresh.periods import COMPARABLE, Status, last_fire, name_of
from flows.refresh.refresh import (
    PAGE,
    branch_of,
    done_already,
    end_of,
    refresh_period,
)
from flows.watch.tracking import PARENT, say
from simulrag.errors import CallsPending, SimulRAGError

PROJECT = "SIMULRAG_PROJECT"
"""Environment variable: the project's folder, where it is not the working directory."""

STATES: dict[Status, str] = {
    "regressed": "Regressed",
    "coverage_failed": "CoverageFailed",
    "out_of_budget": "OutOfBudget",
    "failed": "PipelineFailed",
}
"""Names of the states that a refresh fails in, for automations to watch."""


class ScheduleRunner(Runner):
    """Prefect's runner, which ends on SIGTERM in a line."""

    def handle_sigterm(self, *args: Any, **kwargs: Any) -> None:
        """End what runs, and this process with exit code 0; Prefect's tracebacks are not shown."""
        sys.stderr.write("ended; every finished call is kept, `simulrag refresh` goes on\n")
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        super().handle_sigterm(*args, **kwargs)


def _run_name() -> str:
    """Return that of the branch to come."""
    params = load_params(_project().params)
    return branch_of(params, runtime.flow_run.parameters.get("period") or _scheduled(params))


@flow(name="refresh", flow_run_name=_run_name, persist_result=False)
def refresh(period: str | None = None) -> Any:
    """Refresh a period: the scheduled one, unless one is named. One done already stays."""
    project = _project()
    os.environ[PARENT] = runtime.flow_run.id
    params = load_params(project.params)
    latest = name_of(last_fire(params.operations.refresh, datetime.now(UTC)))
    wanted = period or _scheduled(params)
    why_not = done_already(project, params, wanted)
    if not why_not and period is None and wanted < latest:
        why_not = f"period {wanted} was missed: {latest} has begun"
    if why_not:
        say(why_not)
        return Completed(name="Skipped", message=why_not)
    return _one(project, wanted)


def _project() -> Project:
    return find_project(Path(os.environ.get(PROJECT, Path.cwd())))


def _scheduled(params: Params) -> str:
    """Return the period that this run was planned for."""
    due = runtime.flow_run.scheduled_start_time or datetime.now(UTC)
    return name_of(last_fire(params.operations.refresh, due))


def _one(project: Project, period: str) -> Any:
    try:
        record = refresh_period(project, period)
    except Held as error:
        say(str(error))
        return Completed(name="Skipped", message=str(error))
    except CallsPending as error:
        return Failed(name="CallsPending", message=str(error))
    except SimulRAGError as error:
        say(f"error: refresh {period}: {error}")
        return Failed(name="RefreshFailed", message=f"refresh {period}: {error}")
    say(end_of(project, load_params(project.params), record))
    if record.status in COMPARABLE:
        report = project.kept_report(period)
        page = report.with_name(Path(PAGE).name).read_text(encoding="utf-8")
        text = f"The report is `{report}` on {gethostname()}\n\n{page}"
        create_markdown_artifact(markdown=text, key="refresh", description=f"Refresh {period}")
    if record.status == "completed":
        return Completed(message=f"refresh {period}: no metric fell significantly")
    why = "; ".join(record.reasons) or "the pipeline failed; see the run's log"
    return Failed(name=STATES[record.status], message=f"refresh {period}: {why}"[:2000])
