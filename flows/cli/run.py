"""``simulrag run`` and ``retry``, thin words around ``dvc repro``; what is made of a run then."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import Limit, Seed


def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Stages, such as answer@urban or report (default: all)."),
    ] = None,
    benchmark: Annotated[
        Path | None,
        typer.Option(
            help="Without DVC, over the question files of this folder (DOMAIN.jsonl) instead: from "
            "the evidence they carry, without any by the domain's simulator."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="With --benchmark: folder for the results (default: data/runs/FOLDER)."),
    ] = None,
    limit: Limit = None,
    seed: Seed = 0,
) -> None:
    """Run the pipeline (`dvc repro --keep-going`); show the table."""
    from flows.imported import imported
    from flows.pipeline import run_imported, run_pipeline
    from flows.project import find_project
    from simulrag.errors import InputError

    project = find_project()
    if benchmark is None:
        if out or limit:
            raise InputError("--out and --limit go with --benchmark FOLDER")
        raise typer.Exit(run_pipeline(project, targets or []))
    if targets:
        raise InputError("--benchmark runs all that its questions need: name no stages with it")
    questions = imported(benchmark, limit, seed)
    raise typer.Exit(run_imported(project, questions, out or project.runs(benchmark)))


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
    from flows.params import open_project
    from flows.pipeline import show_table

    project, params = open_project()
    show_table(project, params, project.results, every=every)
