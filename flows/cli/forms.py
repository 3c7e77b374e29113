"""``simulrag forms``: questions by form out of documents, runs and published files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.project import Project

forms_app = typer.Typer(no_args_is_help=True, help="Choice, freeform and cloze questions.")

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
    """Write audited questions; what was refused and a summary lie beside them."""
    from flows.params import load_params
    from flows.project import find_project
    from flows.stages.bench import open_bench
    from flows.stages.forms_benchmark import made_of, simulator_of, stage_table, write
    from simulrag.models.specification import model_settings

    project = find_project()
    params = load_params(project.params)
    wanted = {"questions": questions, "seed": seed}
    changes = {key: value for key, value in wanted.items() if value is not None}
    params = params.model_copy(update={"forms": params.forms.model_copy(update=changes)})
    if model is not None:
        llm = params.llm.model_copy(update={"benchmark": model_settings(model)})
        params = params.model_copy(update={"llm": llm})
    name, corpus = _source(project, source)
    simulator = simulator_of(project, params, name) if corpus is None else None
    folder = corpus or project.results.corpus(name)

    async def work() -> None:
        stage = f"forms_benchmark-{name}"
        async with open_bench(project, params, stage, "benchmark", simulator=simulator) as bench:
            made = await made_of(bench.gateway, bench.simulations, params, name, folder)
        write(out, made)
        typer.echo(stage_table(made))

    asyncio.run(work())


def _source(project: Project, given: str) -> tuple[str, Path | None]:
    """The name of a source, and its corpus where it was given as a path; it is made if needed."""
    from flows.stages.corpus import is_corpus
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
