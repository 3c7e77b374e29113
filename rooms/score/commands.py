"""``simulrag score``, and people who rate answers: ``label rate`` and ``label ratings``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import label

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from rooms.score.records import AnswerToScore, ScoredAnswer

FORMS = "openai:gpt-5-mini, anthropic:NAME, http://127.0.0.1:11434/v1#qwen3 or local:FILE.gguf"


app = typer.Typer()
label_app = typer.Typer()
app.add_typer(label_app, name="label")


@app.command(epilog="Example: simulrag score answers.jsonl --model openai:gpt-5-mini --out scores")
def score(
    answers: Annotated[
        Path, typer.Argument(help="JSON lines with question, answer, evidence; or data/answers/*.")
    ],
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="Whose simulator made the evidence.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"The judge (default: llm.judge): {FORMS}.")
    ] = None,
    confidence: Annotated[
        str | None, typer.Option(help="A model with prompt log-probabilities, for context use.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for what was found.")] = Path("scores"),
) -> None:
    """Score answers without a reference: specificity, relevance, use of evidence, readability."""
    from flows.files import write_records, write_text
    from flows.params import load_params
    from flows.project import find_project
    from flows.report.chart import standalone
    from flows.report.page import files_of
    from rooms.score.page import score_figures, score_table
    from rooms.score.scored import score_rows
    from rooms.score.settings import ScoreParams
    from simulrag.models.providers.registry import model_settings

    project = find_project()
    params = load_params(project.params)
    if model is not None:
        llm = params.llm.model_copy(update={"judge": model_settings(model)})
        params = params.model_copy(update={"llm": llm})
    if confidence is not None:
        chosen = params.room(ScoreParams).model_copy(
            update={"confidence": model_settings(confidence)}
        )
        params = params.model_copy(update={"score": chosen})
    given = _read(project, answers, domain)
    scored = asyncio.run(_scored(project, params, domain, given))
    name = domain or answers.stem
    rows = list(score_rows(scored, params.metrics, name))
    table = score_table(name, rows)
    write_records(out / "scores.jsonl", scored)
    for suffix, text in files_of(table).items():
        write_text(out / f"table.{suffix}", text)
    for figure in score_figures(name, rows):
        write_text(out / f"{figure.name}.svg", standalone(figure.svg))
    typer.echo(files_of(table)["md"])
    failures = {reason for answer in scored for reason in answer.failures}
    for reason in sorted(failures):
        typer.echo(f"failed: {reason}", err=True)
    typer.echo(f"{len(scored)} answers -> {out}")


@label_app.command()
def rate(
    scores: Annotated[Path, typer.Argument(help="scores.jsonl of `simulrag score`.")],
    out: Annotated[Path, typer.Option(help="Folder to write into.")] = Path("ratings"),
) -> None:
    """Write whole answers as Label Studio tasks: details, relevance, context use, confidence."""
    from importlib import resources

    from flows.files import read_records, write_text
    from rooms.score.ratings import rating_tasks
    from rooms.score.records import ScoredAnswer

    tasks = rating_tasks([answer.given for answer in read_records(scores, ScoredAnswer)])
    write_text(out / "tasks.json", json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
    form = resources.files(__package__).joinpath("ratings.xml")
    write_text(out / "config.xml", form.read_text(encoding="utf-8"))
    typer.echo(f"{len(tasks)} answers -> {out}/tasks.json, their form -> config.xml")


@label_app.command()
def ratings(
    scores: Annotated[Path, typer.Argument(help="The scores that the tasks were made from.")],
    files: Annotated[list[Path], typer.Argument(help="Exports of Label Studio, type JSON.")],
) -> None:
    """Show how people who rated answers agree with each other and with the scores."""
    from rich.console import Console
    from rich.table import Table

    from flows.files import read_records
    from rooms.score.ratings import agreements, read_ratings
    from rooms.score.records import ScoredAnswer

    given = [rating for file in files for rating in read_ratings(label.content(file), str(file))]
    table = Table("What", "Between", "Agreement", "p", "Answers or pairs")
    for row in agreements(given, read_records(scores, ScoredAnswer)):
        shown = ("-" if number is None else f"{number:.3f}" for number in (row.value, row.p))
        table.add_row(row.what, row.between, *shown, str(row.n))
    Console().print(table)


def _read(project: Project, path: Path, domain: str | None) -> list[AnswerToScore]:
    """Read the answers of a file: our own answers by every method, or lines from elsewhere."""
    from flows.files import read_records
    from rooms.score.records import AnswerToScore
    from rooms.score.stage import givens, read_pairs
    from simulrag.errors import InputError

    try:
        with path.open(encoding="utf-8") as file:
            ours = '"closed_book"' in file.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); give a file of JSON lines") from None
    if not ours:
        found = read_records(path, AnswerToScore)
        if not found:
            raise InputError(f"{path} holds no answer; give a line of JSON for each")
        return found
    if domain is None:
        raise InputError(f"{path} holds our own answers: name their --domain")
    pairs = read_pairs(path, project.results.benchmark(domain))
    return [one for pair in pairs for one in givens(pair, {})]


async def _scored(
    project: Project, params: Params, domain: str | None, given: list[AnswerToScore]
) -> list[ScoredAnswer]:
    from flows.running.runner import StageContext
    from rooms.score.desk import open_desk
    from rooms.score.stage import STAGE
    from simulrag.method.asking import together

    simulator = None if domain is None else params.load_simulator(domain, project.root)
    at = StageContext(STAGE, project, params, domain or "", project.results)
    async with (
        at.opened(simulator, 0, beside="file") as bench,
        open_desk(at, bench, simulator) as desk,
    ):
        wait = bench.waiting
        forced = desk.panel.probabilities is not None
        scored = await together(
            wait.unless(desk.score(bench, (answer, forced))) for answer in given
        )
        wait.check()
    return [answer for answer in scored if answer is not None]
