"""``simulrag import-official`` and ``library build``: published questions, and documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

library_app = typer.Typer(
    no_args_is_help=True,
    help="Documents as evidence.",
    callback=lambda: None,  # without it an only command goes by no name
)


def import_official(
    folder: Annotated[Path, typer.Argument(help="The folder of one domain, such as FOLDER/urban.")],
    domain: Annotated[str | None, typer.Option(help="Domain (default: the folder's name).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: data/imported/DOMAIN.jsonl).")
    ] = None,
) -> None:
    """Import a published benchmark folder as questions.

    The folder holds questions.json and simulator_evidence.json.
    """
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
        f"domain: {name}}}}}\nthen: simulrag run\n"
        f"Without DVC: simulrag stage answer --benchmark {shown} --domain {name} "
        "--simulator replay --out DIR"
    )


@library_app.command(
    "build",
    epilog="Example: simulrag library build corpus/docs docs --licence Apache-2.0 "
    '--attribution "The SimulRAG authors"',
)
def build(
    out: Annotated[Path, typer.Argument(help="The folder of the corpus; a corpus is replaced.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Markdown, R Markdown, notebooks, HTML, PDF, plain text, JSONL, or folders."
        ),
    ],
    licence: Annotated[
        str, typer.Option(help="The licence of the files that carry none: all but JSONL.")
    ] = "",
    attribution: Annotated[str, typer.Option(help="Who is to be credited for those files.")] = "",
    dense: Annotated[
        bool,
        typer.Option("--dense", help="Make sentence vectors too (needs simulrag[library-dense])."),
    ] = False,
) -> None:
    """Make a corpus: passages of the files, each with its licence, and their index."""
    from simulators.library.builder import build_corpus

    built = build_corpus(out, files, licence=licence, attribution=attribution, dense=dense)
    pages = sum(source.pages for source in built.manifest.sources)
    repeated = f", {built.repeated} repeated ones left out" if built.repeated else ""
    typer.echo(f"{out}: {built.manifest.passages} passages of {pages} pages{repeated}")
    for source in built.manifest.sources:
        told = f"{source.attribution}. Licence: {source.licence}"
        typer.echo(f"  {source.document}: {source.passages} passages. {told}")
