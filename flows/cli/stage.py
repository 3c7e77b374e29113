"""``simulrag stage NAME``: what dvc.yaml calls, and the same over files of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

Name = Literal["simulators", "benchmark", "answer", "label", "metrics", "report"]
WITHOUT_DOMAIN = ("simulators", "report")


def stage(
    name: Annotated[Name, typer.Argument(help="The stage, as dvc.yaml names it.")],
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="A domain of params.yaml.")
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
) -> None:
    """One stage by itself, without DVC; with --benchmark and --out over files of your own."""
    from simulrag.errors import BudgetMissing

    with _noted(f"{name}@{domain}" if domain else name):
        try:
            _run(name, domain, benchmark, out, simulator)
        except BudgetMissing:
            from flows.plan.plan import show_plan
            from flows.project import find_project

            show_plan(find_project(), as_json=False)
            raise


def _run(
    name: Name,
    domain: str | None,
    benchmark: Path | None,
    out: Path | None,
    simulator: str | None,
) -> None:
    from flows.project import find_project
    from simulrag.errors import InputError

    module = import_module(f"flows.stages.{name}")
    project = find_project()
    if name == "simulators":
        module.run(project)
        return
    from flows.params import load_params, unknown

    params = load_params(project.params)
    if (benchmark is None) != (out is None):
        raise InputError("--benchmark and --out go together: data/ holds the pipeline's own outs")
    if domain is None and (name not in WITHOUT_DOMAIN or out is not None):
        raise InputError(f"stage {name} needs --domain, one of: {', '.join(params.domains)}")
    if domain is not None and benchmark is None and domain not in params.simulators:
        raise InputError(unknown("domain", domain, sorted(params.simulators)))
    module.run(project, params, domain, benchmark=benchmark, out=out, simulator=simulator)


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
