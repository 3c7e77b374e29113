"""``simulrag stage NAME``: what dvc.yaml calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer


def stage(
    name: Annotated[str, typer.Argument(help="The stage, as dvc.yaml names it.")],
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="A domain or a source of params.yaml.")
    ] = None,
) -> None:
    """Run one stage without DVC."""
    from flows.params import unknown
    from flows.project import find_project
    from flows.running.runner import execute
    from flows.stages import stage_names, stage_of
    from simulrag.errors import BudgetMissing, InputError

    with _noted(f"{name}@{domain}" if domain else name):
        if name not in stage_names():
            raise InputError(unknown("stage", name, sorted(stage_names())))
        found = stage_of(name)
        if found.over and domain is None:
            raise InputError(f"stage {name} needs --domain, such as --domain urban")
        try:
            execute(found, find_project(), domain or "")
        except BudgetMissing:
            from flows.plan.plan import show_plan

            show_plan(find_project(), as_json=False)
            raise


@contextmanager
def _noted(name: str) -> Iterator[None]:
    """Note that a stage began and how it ended."""
    from flows.cli.errors import code_of
    from flows.outcomes import note

    note(name)
    try:
        yield
    except BaseException as error:
        note(name, code_of(error) or 1, error)
        raise
    note(name, 0)
