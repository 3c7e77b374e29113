"""The whole pipeline, as DVC runs it: run, run again what failed, and show what came out."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from flows.files import check_folder
from flows.imported import STAGES, Imported
from flows.outcomes import gathered, run_child
from flows.params import Params, load_params
from flows.plan import announce
from flows.project import Project, Results
from flows.running.bench import pending_words
from flows.running.runner import StageContext, make_item
from flows.stages import exports, stage_of, stages
from flows.watch.tracking import planned
from simulrag.errors import CallsPending, CoverageFailed, SimulRAGError


def retry_failed(project: Project, params: Params) -> None:
    """Run the stages whose outs hold failures again."""
    failed = failed_stages(project, params)
    if failed:
        sys.stderr.write(f"again: {', '.join(failed)}\n")
        dvc(project, "repro", "--force", "--single-item", "--keep-going", *failed)
    else:
        sys.stderr.write("no stage holds a failure\n")


def run_pipeline(project: Project, targets: list[str]) -> int:
    """``dvc repro --keep-going``; pulls the exported calls first where a remote is set."""
    params = load_params(project.params)  # a mistake in it is the user's to see first
    plan = None if targets else announce(project, params)
    if has_remote(project):
        _pull_calls(project, params)
    with planned(plan.calls() if plan else {}), gathered() as outcomes:
        code = min(1, dvc(project, "repro", "--keep-going", *targets))
        if code and outcomes.only_pending():
            sys.stderr.write(f"{pending_words(params.operations.place(project.root))}\n")
            return CallsPending.exit_code
    if code == 0 and not targets:
        show_table(project, params, project.results)
    return code


def run_imported(project: Project, questions: Imported, out: Path) -> int:
    """Answer, label, measure and report imported questions into the folder ``out``; the exit code.

    A domain whose stage comes through in part, or waits for a batch, keeps none of the others up;
    the report is of those that came through.
    """
    given, place = load_params(project.params), Results(out)
    check_folder(out)
    params = questions.placed(project, given, place)
    plan = announce(project, given, questions, place)
    ended: dict[str, SimulRAGError] = {}
    with planned(plan.calls() if plan else {}):
        for domain in params.domains:
            try:
                for name in STAGES:
                    make_item(StageContext(stage_of(name), project, params, domain, place))
            except (CallsPending, CoverageFailed) as error:
                sys.stderr.write(f"{domain}: {error}\n")
                ended[domain] = error
    if whole := [domain for domain in params.domains if domain not in ended]:
        params = params.model_copy(update={"domains": whole})
        make_item(StageContext(stage_of("report"), project, params, "", place))
        show_table(project, params, place)
    return max((error.exit_code for error in ended.values()), default=0)


def failed_stages(project: Project, params: Params) -> list[str]:
    """The names, as DVC has them, of what stages made that holds a failure."""
    return [
        f"{stage.name}@{item}"
        for stage in stages()
        if stage.failed is not None
        for item in stage.items(params)
        if stage.failed(project.results, item)
    ]


def dvc_config(project: Project) -> Any:
    """DVC's configuration of a project: its own, and that of this machine."""
    from dvc.config import Config

    return Config(str(project.root / ".dvc"))


def has_remote(project: Project) -> bool:
    """Whether DVC has anywhere to pull from."""
    from dvc.config import ConfigError

    with suppress(ConfigError, UnicodeDecodeError):  # DVC itself says better what is wrong
        return bool(dvc_config(project)["remote"])
    return False


def dvc(project: Project, *arguments: str) -> int:
    """Run DVC; its exit code."""
    return run_child(project.root, sys.executable, "-m", "dvc", *arguments).returncode


def _pull_calls(project: Project, params: Params) -> None:
    calls = project.results.calls
    files = [str(calls(name).relative_to(project.root)) for name in exports(params)]
    if dvc(project, "pull", "--allow-missing", *files) != 0:
        sys.stderr.write("warning: the remote's calls could not be pulled; going on without\n")


def show_table(project: Project, params: Params, place: Results, *, every: bool = False) -> None:
    """The table of the outs in ``place``, and where the report lies."""
    from rich.console import Console

    from flows.report.run import ReportedRun, read_domains
    from flows.report.terminal import terminal_table

    console = Console()
    domains = read_domains(place.metrics, params.domains)
    run = ReportedRun(params.metrics, domains, min_coverage=params.operations.min_coverage)
    console.print(terminal_table(run, every=every))
    report = place.report
    if report.is_relative_to(project.root):
        report = report.relative_to(project.root)
    console.print(f"Report: {report}", highlight=False)
