"""The command line ``simulrag``. Heavy imports wait until a command needs them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.agreement import agreement
from flows.cli.batch import batch_app
from flows.cli.label import app as label_app
from flows.cli.models import models_app

if TYPE_CHECKING:
    from simulrag.calls import CachePlace
    from simulrag.records import Answer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Answers to scientific questions, checked claim by claim against a simulator.",
)
cache_app = typer.Typer(no_args_is_help=True, help="The call cache: what was paid for.")
app.add_typer(cache_app, name="cache")
app.add_typer(label_app, name="label")
app.add_typer(models_app, name="models")
app.add_typer(batch_app, name="batch")
app.command()(agreement)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Domain = Annotated[str, typer.Option("--domain", "-d", help="A domain of params.yaml.")]
DomainArgument = Annotated[str, typer.Argument(help="A domain of params.yaml.")]
CacheFile = Annotated[Path, typer.Argument(help="A Parquet file.")]
Place = Annotated[
    str, typer.Argument(help="A folder (from where you are), diskcache:DIR or redis://HOST:PORT/DB")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"simulrag {version('simulrag')}")
        raise typer.Exit


@app.callback()
def _simulrag(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options before any command."""


@app.command(
    epilog='Example: simulrag ask "The city lowers the speed limit by 30 percent. How does the '
    'average travel time change?" --domain urban'
)
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    domain: Domain,
    as_json: Json = False,
) -> None:
    """Answer one question: closed-book claims, verified and corrected by the simulator."""
    from flows.cli.ask import ask_question, show

    answer = ask_question(question, domain)
    if as_json:
        _print_json(_answer_json(question, answer))
    else:
        show(question, answer)


@app.command(epilog="Example: simulrag simulate urban run_scenario '{\"speed_factor\": 0.8}'")
def simulate(
    domain: DomainArgument,
    tool: Annotated[str, typer.Argument(help="A tool; `simulrag handbook DOMAIN` lists them.")],
    arguments: Annotated[str, typer.Argument(help="Arguments as a JSON object.")] = "{}",
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Seed (default: the domain's own).")] = None,
) -> None:
    """Run one tool of a domain's simulator (through the call cache)."""
    from flows.cli.ask import simulate_tool

    evidence, hit = simulate_tool(domain, tool, _object(arguments), seed)
    if as_json:
        _print_json(evidence.model_dump(mode="json") | {"from_cache": hit})
    else:
        typer.echo(evidence.text)


@app.command()
def handbook(domain: DomainArgument) -> None:
    """Print the handbook that models are shown."""
    from flows.params import load_stage_params
    from flows.project import find_project
    from flows.stages.bench import load_simulator

    project = find_project()
    params = load_stage_params(project, "answer")
    typer.echo(load_simulator(project, params, domain).handbook())


@app.command()
def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Stages, such as answer@urban or metrics (default: all)."),
    ] = None,
) -> None:
    """The whole pipeline: `dvc repro --keep-going`, then the table."""
    from flows.cli.run import run_pipeline

    raise typer.Exit(run_pipeline(targets or []))


@app.command()
def retry() -> None:
    """Run the stages whose outs hold failures again, then the rest."""
    from flows.cli.run import retry_failures

    raise typer.Exit(retry_failures())


@app.command()
def plan(as_json: Json = False) -> None:
    """Calls, tokens and money of the pending work, before anything is spent."""
    from flows.plan.plan import show_plan
    from flows.project import find_project

    show_plan(find_project(), as_json)


@app.command("import-official")
def import_official(
    folder: Annotated[Path, typer.Argument(help="The folder of one domain, such as FOLDER/urban.")],
    domain: Annotated[str | None, typer.Option(help="Domain (default: the folder's name).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: data/imported/DOMAIN.jsonl).")
    ] = None,
) -> None:
    """Read a published benchmark folder (questions.json, simulator_evidence.json)."""
    from flows.files import check_folder, write_records
    from simulrag.questions.published import read_published

    name = domain or folder.resolve().name
    questions = read_published(folder, name)
    if out is None:
        from flows.project import find_project

        project = find_project()
        out = project.results.imported(name)
        shown = out.relative_to(project.root)
    else:
        shown = out
    check_folder(out.parent)
    write_records(out, questions)
    scenarios = len({question.scenario_id for question in questions})
    typer.echo(f"{len(questions)} questions on {scenarios} distinct scenarios -> {shown}")
    typer.echo(
        f"To run them with DVC, put '{name}-published' under domains in params.yaml and under "
        f"simulators:\n  {name}-published: {{name: replay, settings: {{benchmark: {shown}, "
        f"domain: {name}}}}}\nthen: python -m flows.cli.lineage && simulrag run\n"
        f"Without DVC: python -m flows.stages.answer --benchmark {shown} --domain {name} "
        "--simulator replay --out DIR"
    )


@app.command()
def params(as_json: Json = False) -> None:
    """What each parameter means, and its value in params.yaml."""
    from flows.params import describe, load_params
    from flows.project import find_project

    values = load_params(find_project().params).model_dump(mode="json")
    rows = []
    for name, meaning in describe():
        value: Any = values
        for part in name.split("."):
            value = value[part]
        rows.append({"name": name, "value": value, "meaning": meaning})
    if as_json:
        _print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['name']} = {json.dumps(row['value'], ensure_ascii=False)}")
        typer.echo(f"    {row['meaning']}")


@cache_app.command("stats")
def cache_stats_command(as_json: Json = False) -> None:
    """Entries, hits and misses of each stage's last run, and how long calls took."""
    from simulrag.calls import cache_stats

    stats = cache_stats(_cache()).model_dump(mode="json")
    if as_json:
        _print_json(stats)
        return
    typer.echo(f"{stats['entries']} entries, {stats['size_bytes'] / 1e6:.1f} MB")
    for name, stage in sorted(stats["stages"].items()):
        typer.echo(f"  {name}: {stage['hits']} hits, {stage['misses']} misses in its last run")
    for row in stats["times"]:
        typer.echo(
            f"  {row['name']}: {row['calls']} calls made here took {row['total_s']:.1f} s one by "
            f"one, {row['median_s']:.3f} s the median, {row['slowest_s']:.3f} s the slowest"
        )


@cache_app.command("verify")
def cache_verify(as_json: Json = False) -> None:
    """Check every row against its key; exit 1 when one does not match."""
    from simulrag.calls import verify_cache

    report = verify_cache(_cache())
    if as_json:
        _print_json(report.model_dump(mode="json"))
    else:
        typer.echo(f"{report.rows} rows checked, {len(report.problems)} problems")
        for problem in report.problems:
            typer.echo(f"  {problem.key}: {problem.what}")
    if report.problems:
        raise typer.Exit(1)


@cache_app.command("export")
def cache_export(file: CacheFile, as_json: Json = False) -> None:
    """Write every call of the cache to a Parquet file."""
    from simulrag.calls import export_cache

    count = export_cache(_cache(), file)
    _print_json({"exported": count}) if as_json else typer.echo(f"{count} calls -> {file}")


@cache_app.command("import")
def cache_import(file: CacheFile, as_json: Json = False) -> None:
    """Read calls from a Parquet file; a row that does not match its key is refused."""
    from simulrag.calls import import_cache
    from simulrag.errors import InputError

    report = import_cache(_cache(), file)
    if as_json:
        _print_json(report.model_dump(mode="json"))
    else:
        typer.echo(f"{report.imported} imported, {report.present} were there")
    if report.refused:
        raise InputError(f"{len(report.refused)} rows do not match their keys and were refused")


@cache_app.command("copy")
def cache_copy(source: Place, target: Place, as_json: Json = False) -> None:
    """Copy a cache to another place (DIR, diskcache:DIR, redis[s]://HOST:PORT/DB); repeatable."""
    from simulrag.calls import copy_cache, parse_place
    from simulrag.errors import InputError
    from simulrag.models.pending import copy_pending

    places = parse_place(source), parse_place(target)
    report = copy_cache(*places)
    waiting = copy_pending(*places)
    if as_json:
        _print_json(report.model_dump(mode="json") | {"pending": waiting})
    else:
        typer.echo(
            f"{report.copied} rows copied, {report.present} were there; "
            f"{waiting} calls that wait for a batch copied"
        )
    if report.refused:
        raise InputError(
            f"{len(report.refused)} rows cannot be trusted and were refused (the first: "
            f"{report.refused[0]}); the others are copied"
        )


def _cache() -> CachePlace:
    from flows.params import load_params
    from flows.project import find_project
    from flows.stages.bench import cache_place

    project = find_project()
    return cache_place(project, load_params(project.params).operations)


def _object(text: str) -> dict[str, Any]:
    from simulrag.errors import InputError

    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"the arguments are no valid JSON: {error.msg} at character {error.pos}; "
            """give an object such as '{"speed_factor": 0.8}'"""
        ) from None
    if not isinstance(value, dict):
        raise InputError("the arguments must be a JSON object such as '{\"speed_factor\": 0.8}'")
    return value


def _answer_json(question: str, answer: Answer) -> dict[str, Any]:
    selected, kept = set(answer.selected), set(answer.kept)
    return {
        "question": question,
        "answer": answer.final,
        "verified": answer.verified,
        "claims": [
            {
                "claim": claim.updated_text if i in selected else claim.text,
                "before": claim.text,
                "confidence": claim.confidence,
                "boundary": claim.boundary,
                "selected": i in selected,
                "verdict": claim.verdict.status if claim.verdict else None,
                "kept": i in kept,
            }
            for i, claim in enumerate(answer.claims)
        ],
        "evidence": [
            item.model_dump(mode="json")
            for item in (answer.retrieval.evidence if answer.retrieval else ())
        ],
        "usage": {task: usage.model_dump() for task, usage in answer.usage.items()},
    }


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def main() -> None:
    """The console script."""
    from flows.stages.reasons import tell
    from simulators.base import ArgumentError, SimulatorError
    from simulrag.errors import CallsPending, SimulRAGError

    try:
        app()
    except ArgumentError as error:
        _end(str(error), 2)
    except SimulatorError as error:
        _end(str(error), 1)
    except CallsPending as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    except SimulRAGError as error:
        tell(error)
        _end(str(error), error.exit_code)


def _end(text: str, code: int) -> None:
    sys.stderr.write(f"error: {' '.join(text.split())}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
