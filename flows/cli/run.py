"""``simulrag run`` and ``retry``, thin words around ``dvc repro``; what is made of a run then."""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Stages, such as answer@urban or report (default: all)."),
    ] = None,
) -> None:
    """Run the pipeline (`dvc repro --keep-going`); show the table."""
    from flows.pipeline import run_pipeline
    from flows.project import find_project

    raise typer.Exit(run_pipeline(find_project(), targets or []))


def retry() -> None:
    """Run stages whose outs hold failures again, then the rest."""
    from flows.params import open_project
    from flows.pipeline import retry_failed, run_pipeline

    project, params = open_project()
    retry_failed(project, params)
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
    from flows.pipeline import show_table
    from flows.project import find_project

    show_table(find_project(), every=every)
