"""``simulrag forms``: questions by form out of documents, runs and published files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from flows.project import Project

app = typer.Typer()
forms_app = typer.Typer(no_args_is_help=True, help="Choice, freeform and cloze questions.")
app.add_typer(forms_app, name="forms")

Out = Annotated[Path, typer.Option(help="File to write, JSON lines.")]


@forms_app.command(
    epilog="Example: simulrag forms generate corpus/docs --out questions.jsonl --questions 30"
)
def generate(
    source: Annotated[
        str, typer.Argument(help="A domain, a corpus folder, or documents (JSONL, Markdown ...).")
    ],
    out: Out,
    questions: Annotated[int | None, typer.Option(help="How many that pass the audits.")] = None,
    seed: Annotated[int | None, typer.Option(help="Order of passages or scenarios.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that writes, as in `simulrag ask`.")
    ] = None,
) -> None:
    """Write audited questions, with the refused ones and a summary beside them."""
    from flows.params import load_params
    from flows.project import find_project
    from flows.running.bench import open_bench
    from rooms.forms.benchmark import (
        made_of,
        simulator_of,
        stage_table,
        write,
    )
    from rooms.forms.records import corpus_folder
    from rooms.forms.settings import FormsParams
    from simulrag.models.providers.registry import model_settings

    project = find_project()
    params = load_params(project.params)
    wanted = {"questions": questions, "seed": seed}
    changes = {key: value for key, value in wanted.items() if value is not None}
    forms = params.room(FormsParams).model_copy(update=changes)
    params = params.model_copy(update={"forms": forms})
    if model is not None:
        llm = params.llm.model_copy(update={"benchmark": model_settings(model)})
        params = params.model_copy(update={"llm": llm})
    name, corpus = _source(project, source)
    simulator = simulator_of(project, params, name) if corpus is None else None
    folder = corpus or corpus_folder(project.results, name)

    async def work() -> None:
        stage = f"forms_benchmark-{name}"
        async with open_bench(project, params, stage, "benchmark", simulator=simulator) as bench:
            made = await made_of(bench.gateway, bench.simulations, params, name, folder)
        write(out, made)
        typer.echo(stage_table(made))

    asyncio.run(work())


@forms_app.command("import-climaqa", epilog="Example: simulrag forms import-climaqa mcq.csv")
def import_climaqa(
    file: Annotated[Path, typer.Argument(help="A CSV of ClimaQA, or any CSV or JSONL.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: data/imported/SOURCE-forms.jsonl).")
    ] = None,
    source: Annotated[str, typer.Option(help="The name of the source.")] = "climaqa",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of another name: question=Q. Ours: question, options, answer, "
            "level, valid, context."
        ),
    ] = None,
) -> None:
    """Take over published questions; rows that experts called invalid are left out."""
    from flows.files import write_records
    from flows.project import find_project
    from rooms.forms.files import CLIMAQA, read_table
    from simulrag.errors import InputError

    named = dict(CLIMAQA)
    for pair in columns or []:
        ours, equals, theirs = pair.partition("=")
        if not (ours and equals and theirs):
            raise InputError(f"--columns {pair}: write it as question=COLUMN")
        named[ours] = theirs
    questions, invalid = read_table(file, source, named)
    out = out or find_project().results.imported(f"{source}-forms")
    write_records(out, questions)
    typer.echo(f"{len(questions)} questions -> {out}; {invalid} invalid ones left out")


@forms_app.command(
    epilog="Example: simulrag forms export questions.jsonl --format inspect --out exported"
)
def export(
    file: Annotated[Path, typer.Argument(help="Questions of ours, JSON lines.")],
    format: Annotated[Literal["lm-eval", "inspect"], typer.Option(help="Whose files to write.")],
    out: Annotated[Path, typer.Option(help="Folder to write into.")],
) -> None:
    """Write questions as tasks of lm-evaluation-harness, or as datasets of inspect_ai."""
    from flows.files import write_text
    from rooms.forms.files import inspect_files, lm_eval_files, read_forms

    questions = read_forms(file)
    name = questions[0].source
    files = inspect_files(questions, name)
    if format == "lm-eval":
        files = lm_eval_files(questions, name, out.as_posix())
    for path, text in files.items():
        write_text(out / path, text)
    typer.echo(f"{len(questions)} questions -> {', '.join(str(out / path) for path in files)}")


def _source(project: Project, given: str) -> tuple[str, Path | None]:
    """Return a source's name, and its corpus where a path was given; it is made if needed."""
    from rooms.forms.corpus import is_corpus
    from simulators.library.builder import build_corpus

    path = Path(given)
    if not path.exists():
        return given, None
    if is_corpus(path):
        return path.resolve().name, path
    name = path.resolve().stem
    folder = project.root / ".cache" / "corpus" / name
    build_corpus(folder, [path])
    return name, folder
