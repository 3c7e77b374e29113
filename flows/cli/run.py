"""``simulrag run`` and ``retry``, thin words around ``dvc repro``; what is made of a run then."""

from __future__ import annotations

import os
import subprocess
import sys
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project


def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Stages, such as answer@urban or report (default: all)."),
    ] = None,
) -> None:
    """Run the pipeline (`dvc repro --keep-going`); show the table."""
    from flows.project import find_project

    raise typer.Exit(run_pipeline(find_project(), targets or []))


def retry() -> None:
    """Run stages whose outs hold failures again, then the rest."""
    from flows.params import open_project

    project, params = open_project()
    stages = failed_stages(project, params)
    if stages:
        sys.stderr.write(f"again: {', '.join(stages)}\n")
        dvc(project, "repro", "--force", "--single-item", "--keep-going", *stages)
    else:
        sys.stderr.write("no stage holds a failure\n")
    raise typer.Exit(run_pipeline(project, []))


def record(
    simulators: Annotated[
        bool,
        typer.Option(
            "--simulators",
            help="Make the recorded simulator runs again, after their code changed; "
            "model calls stay as they are.",
        ),
    ] = False,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="With --simulators: take outputs that differ from the old."),
    ] = False,
) -> None:
    """Keep the calls of the last run in data/recorded, where the default replays them from."""
    from flows.params import open_project
    from flows.recording import record_calls, record_runs
    from simulrag.errors import InputError

    if accept and not simulators:
        raise InputError("--accept goes with --simulators")
    project, params = open_project()
    lines = record_runs(project, params, accept) if simulators else record_calls(project, params)
    for line in lines:
        typer.echo(line)


def table(
    every: Annotated[
        bool, typer.Option("--all", help="Every way to write an answer, not only some eight.")
    ] = False,
) -> None:
    """Show what each way to write an answer costs and is worth, from the last run's metrics."""
    from flows.project import find_project

    _show_table(find_project(), every=every)


def run_pipeline(project: Project, targets: list[str]) -> int:
    """``dvc repro --keep-going``; pulls the exported calls first where a remote is set."""
    from flows.outcomes import gathered
    from flows.params import load_params
    from simulrag.errors import CallsPending

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
        _show_table(project)
    return code


def failed_stages(project: Project, params: Params) -> list[str]:
    """The names, as DVC has them, of what stages made that holds a failure."""
    from flows.stages import stages

    return [
        f"{stage.name}@{item}"
        for stage in stages()
        if stage.failed is not None
        for item in stage.items(params)
        if stage.failed(project.results, item)
    ]


def has_remote(project: Project) -> bool:
    """Whether DVC has anywhere to pull from; read from its files, since it takes 2 s to start."""
    home = Path(os.environ.get("DVC_GLOBAL_CONFIG_DIR", "~/.config/dvc")).expanduser()
    folder = project.root / ".dvc"
    config = ConfigParser(strict=False, interpolation=None)
    with suppress(ConfigError, UnicodeDecodeError):  # DVC itself says better what is wrong with it
        config.read([home / "config", folder / "config", folder / "config.local"], encoding="utf-8")
    return any(section.strip("'").startswith("remote ") for section in config.sections())


def dvc(project: Project, *arguments: str) -> int:
    """Run DVC; its exit code."""
    from flows.outcomes import child_environment
    from simulrag.errors import EnvironmentFault

    command = [sys.executable, "-m", "dvc", *arguments]
    try:
        done = subprocess.run(command, cwd=project.root, env=child_environment(), check=False)
        return done.returncode
    except OSError as error:
        raise EnvironmentFault(f"DVC cannot be started: {error}") from None


def _pull_calls(project: Project, params: Params) -> None:
    from flows.stages import exports

    calls = project.results.calls
    files = [str(calls(name).relative_to(project.root)) for name in exports(params)]
    if dvc(project, "pull", "--allow-missing", *files) != 0:
        sys.stderr.write("warning: the remote's calls could not be pulled; going on without\n")


def _show_table(project: Project, *, every: bool = False) -> None:
    from rich.console import Console

    from flows.params import load_params
    from simulrag.report.run import Run, read_domains
    from simulrag.report.terminal import terminal_table

    params = load_params(project.params)
    console = Console()
    domains = read_domains(project.results.metrics, params.domains)
    console.print(terminal_table(Run(params.metrics, domains), every=every))
    report = project.results.report.relative_to(project.root)
    console.print(f"Report: {report}", highlight=False)
