"""``simulrag stage NAME``: what dvc.yaml calls."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.main import code_of
from flows.outcomes import note
from flows.params import unknown
from flows.project import find_project
from flows.running.runner import execute
from flows.stages import stage_names, stage_of
from simulrag.errors import BudgetMissing, InputError

app = typer.Typer()


@app.command()
def stage(
    name: Annotated[str, typer.Argument(help="The stage, as dvc.yaml names it.")],
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="A domain or a source of params.yaml.")
    ] = None,
) -> None:
    """Run one stage without DVC."""
    run = f"{name}@{domain}" if domain else name
    note(run)
    try:
        _run(name, domain or "")
    except BaseException as error:
        note(run, code_of(error) or 1, error)
        raise
    note(run, 0)


def _run(name: str, item: str) -> None:
    if name not in stage_names():
        raise InputError(unknown("stage", name, sorted(stage_names())))
    declared = stage_of(name)
    if declared.over and not item:
        raise InputError(f"stage {name} needs --domain, such as --domain urban")
    project = find_project()
    try:
        execute(declared, project, item)
    except BudgetMissing:
        from flows.plan import show_plan  # a stage that runs has no use for it

        show_plan(project, as_json=False)
        raise
