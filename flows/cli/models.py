"""``simulrag models``: the models that params.yaml names."""

from __future__ import annotations

import typer

from flows.cli.output import Json, print_json

models_app = typer.Typer(no_args_is_help=True, help="The models that params.yaml names.")


@models_app.callback()
def _models() -> None:
    """Without this a single command would lose its name."""


@models_app.command("check")
def check(as_json: Json = False) -> None:
    """Two tiny calls to each model and sampling, and what works; exit 1 where one does not."""
    from flows.cli.model_check import check_models, checked_text
    from flows.project import find_project

    checked = check_models(find_project())
    if as_json:
        print_json([item.model_dump(mode="json") for item in checked])
    else:
        typer.echo("\n".join(checked_text(item) for item in checked))
    if not all(item.works for item in checked):
        raise typer.Exit(1)
