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
    folder: Annotated[
        Path, typer.Argument(help="The folder of one domain, such as FOLDER/urban, or of all.")
    ],
    domain: Annotated[
        str | None, typer.Option(help="Domain of the one folder (default: its name).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, of one domain (default: data/imported/DOMAIN.jsonl)."),
    ] = None,
) -> None:
    """Import published benchmark folders as questions.

    A domain's folder holds questions.json and simulator_evidence.json; or it lies as in the
    authors' repository, with the evidence in cache/DOMAIN beside it.
    """
    from flows.files import check_folder, write_records
    from flows.project import find_project
    from simulrag.errors import InputError
    from simulrag.questions.published import QUESTIONS, read_published

    folders = [folder]
    if not (folder / QUESTIONS).is_file():
        folders = sorted(file.parent for file in folder.glob(f"*/{QUESTIONS}")) or folders
    if len(folders) > 1 and (domain or out):
        raise InputError(f"{folder} holds several domains: --domain and --out go with one of them")
    imported = {}
    for one in folders:
        name = domain or one.resolve().name
        imported[name] = read_published(one, name)
    for name, questions in imported.items():
        file = out or find_project().results.imported(name)
        check_folder(file.parent)
        write_records(file, questions)
        here = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
        scenarios = len({question.scenario_id for question in questions})
        counted = f"{len(questions)} questions on {scenarios} distinct scenarios"
        typer.echo(f"{name}: {counted} -> {here}")
    typer.echo(
        f"What running them costs: simulrag plan --benchmark {here.parent}\n"
        f"To run them:             simulrag run --benchmark {here.parent}\n"
        "Few of each domain first: --limit 3. With DVC: docs/read-the-report.md"
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
            help="Markdown, plain text, JSONL, folders; PDF, HTML and others by markitdown."
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
