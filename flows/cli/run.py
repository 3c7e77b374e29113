"""``simulrag run``, ``retry``, ``plan``, ``params``, ``record``, ``table``, and ``stage``.

``run`` and ``retry`` are thin words around ``dvc repro``, and ``stage`` is what dvc.yaml calls.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.main import code_of
from flows.cli.output import Json, Limit, Seed, show
from flows.imported import imported
from flows.params import Params, describe, open_project, unknown
from flows.pipeline import note, retry_failed, run_imported, run_pipeline, show_table
from flows.plan import show_plan
from flows.project import Project, Results, find_project
from flows.running.runner import execute
from flows.stages import stage_names, stage_of
from simulrag.errors import BudgetMissing, InputError

AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="With --benchmark: by the paper's method alone, whatever answer.method says.",
    ),
]

app = typer.Typer()


@app.command()
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
    as_published: AsPublished = False,
) -> None:
    """Run the pipeline (`dvc repro --keep-going`); show the table."""
    project = find_project()
    if benchmark is None:
        if out or limit or as_published:
            raise InputError("--out, --limit and --as-published go with --benchmark FOLDER")
        raise typer.Exit(run_pipeline(project, targets or []))
    if targets:
        raise InputError("--benchmark runs all that its questions need: name no stages with it")
    questions = imported(benchmark, limit, seed, as_published=as_published)
    raise typer.Exit(run_imported(project, questions, out or project.runs(benchmark)))


@app.command()
def retry() -> None:
    """Repeat the stages that have failures, then run the rest."""
    project, params = open_project()
    retry_failed(project, params)
    raise typer.Exit(run_pipeline(project, []))


@app.command()
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
    """Write the calls of the last run to data/recorded, from where the default replays them."""
    from flows.recording import record_calls, record_runs  # with polars

    if accept and not simulators:
        raise InputError("--accept goes with --simulators")
    project, params = open_project()
    lines = record_runs(project, params, accept) if simulators else record_calls(project, params)
    for line in lines:
        typer.echo(line)


FolderOfRun = Annotated[
    Path | None,
    typer.Option(
        "--results", help="The folder of `run --benchmark` (default: the pipeline's data)."
    ),
]


@app.command()
def table(
    every: Annotated[
        bool, typer.Option("--all", help="Every way to write an answer, not only some eight.")
    ] = False,
    results: FolderOfRun = None,
) -> None:
    """Show the cost and the worth of each method, from a run's metrics."""
    project, params = open_project()
    place, measured = _measured(project, params, results)
    show_table(project, params.model_copy(update={"domains": measured}), place, every=every)


@app.command(epilog="Example: simulrag figure calls --out calls.pdf --results data/runs/imported")
def figure(
    name: Annotated[
        str,
        typer.Argument(
            help="calls: share of true claims against calls; claims: AUROC against the budget."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file: .pdf, .svg or .png.")],
    results: FolderOfRun = None,
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", "-d", help="A panel of it; again for more (default: all)."),
    ] = None,
) -> None:
    """Draw a figure for a paper, a panel a domain."""
    from flows.report.drawing import draw  # with polars
    from flows.report.run import ReportedRun, read_domains

    project, params = open_project()
    place, measured = _measured(project, params, results)
    asked = domain or measured
    draw(name, ReportedRun(params.metrics, read_domains(place.metrics, asked)), out)
    typer.echo(f"{out}: {', '.join(asked)}")


def _measured(project: Project, params: Params, folder: Path | None) -> tuple[Results, list[str]]:
    """Return where a run's outs lie and its domains. Raises InputError where none was measured."""
    import polars  # noqa: F401 what is not installed is said first

    place = Results(folder) if folder else project.results
    there = [path.stem for path in sorted(place.metrics.glob("*.json"))]  # no room writes one
    if not there:
        raise InputError(
            f"{place.metrics} holds no metrics; `simulrag run` makes those of the pipeline, "
            "`simulrag run --benchmark FOLDER` those of data/runs/FOLDER"
        )
    return place, [name for name in params.domains if name in there] or there


@app.command()
def plan(
    benchmark: Annotated[
        Path | None,
        typer.Option(help="Plan `simulrag run --benchmark FOLDER` over these question files."),
    ] = None,
    limit: Limit = None,
    seed: Seed = 0,
    as_published: AsPublished = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="With --benchmark: count every question, not 50 of each domain."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """State calls, tokens, money and time of the pending work."""
    project = find_project()
    if benchmark is not None:
        questions = imported(benchmark, limit, seed, as_published=as_published)
        show_plan(project, as_json, questions, Results(project.runs(benchmark)), exact=exact)
        return
    if limit is not None or as_published or exact:
        raise InputError("--limit, --as-published and --exact go with --benchmark FOLDER")
    show_plan(project, as_json)


@app.command()
def params(as_json: Json = False) -> None:
    """Show the meaning and the value of each parameter."""
    _, params = open_project()
    values = params.model_dump(mode="json")
    rows = []
    for name, meaning in describe():
        value: Any = values
        for part in name.split("."):
            value = value[part]
        rows.append({"name": name, "value": value, "meaning": meaning})
    lines = (
        f"{row['name']} = {json.dumps(row['value'], ensure_ascii=False)}\n    {row['meaning']}"
        for row in rows
    )
    show(as_json, rows, *lines)


@app.command()
def stage(
    name: Annotated[str, typer.Argument(help="The stage, as dvc.yaml names it.")],
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="A domain or a source of params.yaml.")
    ] = None,
) -> None:
    """Run one stage without DVC."""
    item = f"{name}@{domain}" if domain else name
    note(item)
    try:
        _run_stage(name, domain or "")
    except BaseException as error:
        note(item, code_of(error) or 1, error)
        raise
    note(item, 0)


def _run_stage(name: str, item: str) -> None:
    if name not in stage_names():
        raise InputError(unknown("stage", name, sorted(stage_names())))
    declared = stage_of(name)
    if declared.over and not item:
        raise InputError(f"stage {name} needs --domain, such as --domain urban")
    project = find_project()
    try:
        execute(declared, project, item)
    except BudgetMissing:
        show_plan(project, as_json=False)
        raise
