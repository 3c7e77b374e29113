"""``simulrag stage NAME``: what dvc.yaml calls, and the same over files of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.output import Limit, Seed


def stage(
    name: Annotated[str, typer.Argument(help="The stage, as dvc.yaml names it.")],
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="A domain or a source of params.yaml.")
    ] = None,
    benchmark: Annotated[
        Path | None, typer.Option(help="Questions from this JSONL file; goes with --out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results, instead of data/.")
    ] = None,
    simulator: Annotated[
        str | None,
        typer.Option(help="Answer from this simulator; 'replay': the file's published evidence."),
    ] = None,
    limit: Limit = None,
    seed: Seed = 0,
) -> None:
    """Run one stage without DVC, also over files of your own."""
    from simulrag.errors import BudgetMissing

    with _noted(f"{name}@{domain}" if domain else name):
        try:
            given = {"benchmark": benchmark, "out": out, "simulator": simulator}
            _run(name, domain, given, limit, seed)
        except BudgetMissing:
            from flows.plan.plan import show_plan
            from flows.project import find_project

            show_plan(find_project(), as_json=False)
            raise


def _run(
    name: str,
    domain: str | None,
    given: dict[str, Path | str | None],
    limit: int | None,
    seed: int,
) -> None:
    from flows.params import unknown
    from flows.project import find_project
    from flows.running.runner import execute, options_of
    from flows.stages import stage_names, stage_of
    from simulrag.errors import InputError

    if name not in stage_names():
        raise InputError(unknown("stage", name, sorted(stage_names())))
    found = stage_of(name)
    options: dict[str, Any] = options_of(found, given)
    if (found.over and domain is None) or (options and domain is None):
        raise InputError(f"stage {name} needs --domain, such as --domain urban")
    if limit is not None and "benchmark" not in options:
        raise InputError("--limit draws from the file of --benchmark: give one")
    execute(found, find_project(), domain or "", limit=limit, seed=seed, **options)


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
