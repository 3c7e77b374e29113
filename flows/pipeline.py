"""The whole pipeline, as DVC runs it: run, run again what failed, and show what came out."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from flows.outcomes import gathered, run_child
from flows.params import Params, load_params
from flows.project import Project
from flows.stages import exports, stages
from simulrag.errors import CallsPending


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
    if not targets and not all(model.replay for _, model in params.llm):
        from flows.plan.plan import refuse_without_budget

        refuse_without_budget(project)
    if has_remote(project):
        _pull_calls(project, params)
    with gathered() as outcomes:
        code = min(1, dvc(project, "repro", "--keep-going", *targets))
        if code and outcomes.only_pending():
            from flows.running.waiting import pending_words

            sys.stderr.write(f"{pending_words(params.operations.place(project.root))}\n")
            return CallsPending.exit_code
    if code == 0 and not targets:
        show_table(project)
    return code


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


def show_table(project: Project, *, every: bool = False) -> None:
    from rich.console import Console

    from simulrag.report.run import ReportedRun, read_domains
    from simulrag.report.terminal import terminal_table

    params = load_params(project.params)
    console = Console()
    domains = read_domains(project.results.metrics, params.domains)
    run = ReportedRun(params.metrics, domains, min_coverage=params.operations.min_coverage)
    console.print(terminal_table(run, every=every))
    report = project.results.report.relative_to(project.root)
    console.print(f"Report: {report}", highlight=False)
