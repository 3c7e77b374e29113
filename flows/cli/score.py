"""``simulrag score``: answers from anywhere, scored without a reference."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from simulrag.judging.score.records import Asked, Given

FORMS = "openai:gpt-5-mini, anthropic:NAME, http://127.0.0.1:11434/v1#qwen3 or local:FILE.gguf"


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
    """Score answers: how specific, how relevant, what they owe to the evidence, how readable."""
    from flows.files import write_records, write_text
    from flows.params import load_params
    from flows.project import find_project
    from simulrag.metrics.scored import score_rows
    from simulrag.models.specification import model_settings
    from simulrag.report.chart import standalone
    from simulrag.report.sections.score import score_figures, score_table
    from simulrag.report.table_files import files_of

    project = find_project()
    params = load_params(project.params)
    if model is not None:
        llm = params.llm.model_copy(update={"judge": model_settings(model)})
        params = params.model_copy(update={"llm": llm})
    if confidence is not None:
        chosen = params.score.model_copy(update={"confidence": model_settings(confidence)})
        params = params.model_copy(update={"score": chosen})
    given = _read(project, answers, domain)
    found = asyncio.run(_scored(project, params, domain, given))
    name = domain or answers.stem
    rows = list(score_rows(found, params.metrics, name))
    table = score_table(name, rows)
    write_records(out / "scores.jsonl", found)
    for suffix, text in files_of(table).items():
        write_text(out / f"table.{suffix}", text)
    for figure in score_figures(name, rows):
        write_text(out / f"{figure.name}.svg", standalone(figure.svg))
    typer.echo(files_of(table)["md"])
    failures = {reason for one in found for reason in one.failures}
    for reason in sorted(failures):
        typer.echo(f"failed: {reason}", err=True)
    typer.echo(f"{len(found)} answers -> {out}")


def profiles(
    out: Annotated[Path, typer.Argument(help="The file of questions (JSON lines) to write.")],
    domain: Annotated[
        str | None,
        typer.Option("--domain", "-d", help="Its benchmark's questions, asked by roles."),
    ] = None,
    count: Annotated[int, typer.Option(help="Questions about hazards, without --domain.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of their profiles.")] = 0,
) -> None:
    """Write questions by role: of 41 professions about hazards, or of roles about a scenario."""
    from flows.files import write_records
    from flows.project import find_project
    from simulrag.questions.published import read_questions
    from simulrag.questions.roles import asked_by_roles, hazard_questions

    if domain is None:
        found = hazard_questions(count, seed)
    else:
        found = asked_by_roles(read_questions(find_project().results.benchmark(domain)))
    write_records(out, found)
    typer.echo(f"{len(found)} questions -> {out}")


def _read(project: Project, path: Path, domain: str | None) -> list[Given]:
    """The answers of a file: our own answers by every method, or lines from elsewhere."""
    from flows.files import read_records
    from flows.stages.score import givens, read_pairs
    from simulrag.errors import InputError
    from simulrag.judging.score.records import Given

    try:
        with path.open(encoding="utf-8") as file:
            ours = '"closed_book"' in file.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); give a file of JSON lines") from None
    if not ours:
        found = read_records(path, Given)
        if not found:
            raise InputError(f"{path} holds no answer; give a line of JSON for each")
        return found
    if domain is None:
        raise InputError(f"{path} holds our own answers: name their --domain")
    pairs = read_pairs(path, project.results.benchmark(domain))
    return [one for pair in pairs for one in givens(pair, {})]


async def _scored(
    project: Project, params: Params, domain: str | None, given: list[Given]
) -> list[Asked]:
    from flows.running.runner import At
    from flows.running.scoring import open_desk
    from flows.stages.score import STAGE
    from flows.watch.tracking import Untracked
    from simulrag.method.concurrency import together

    simulator = None if domain is None else params.load_simulator(domain, project.root)
    at = At(STAGE, project, params, domain or "", project.results, Untracked(), project.root)
    async with (
        at.opened(simulator, 0, beside="file") as bench,
        open_desk(at, bench, simulator) as desk,
    ):
        wait = bench.waiting
        forced = desk.panel.probabilities is not None
        found = await together(wait.unless(desk.score(bench, (one, forced))) for one in given)
        wait.check()
    return [one for one in found if one is not None]
