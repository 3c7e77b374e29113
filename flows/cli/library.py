"""``simulrag library``: documents that questions are answered from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

library_app = typer.Typer(no_args_is_help=True, help="Documents as evidence.")


@library_app.callback()
def _library() -> None:
    """Without this a single command would lose its name."""


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
