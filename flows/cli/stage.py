"""``simulrag stage NAME``: what dvc.yaml calls, and the same over files of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

Name = Literal[
    "simulators",
    "benchmark",
    "answer",
    "label",
    "attribution",
    "routing",
    "corpus",
    "forms_benchmark",
    "forms_answer",
    "forms_metrics",
    "score",
    "metrics",
    "report",
]


def stage(
    name: Annotated[Name, typer.Argument(help="The stage, as dvc.yaml names it.")],
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
) -> None:
    """Run one stage without DVC, also over files of your own."""
    from simulrag.errors import BudgetMissing

    with _noted(f"{name}@{domain}" if domain else name):
        try:
            _run(name, domain, {"benchmark": benchmark, "out": out, "simulator": simulator})
        except BudgetMissing:
            from flows.plan.plan import show_plan
            from flows.project import find_project

            show_plan(find_project(), as_json=False)
            raise


TAKES: dict[str, tuple[str, ...]] = {
    "answer": ("benchmark", "out", "simulator"),
    "label": ("benchmark", "out"),
    "attribution": ("benchmark", "out"),
    "routing": ("benchmark", "out"),
    "score": ("benchmark", "out"),
    "metrics": ("benchmark", "out"),
    "report": ("benchmark", "out"),
}
"""The options of stages beside --domain."""


def _run(name: Name, domain: str | None, given: dict[str, Path | str | None]) -> None:
    from flows.project import find_project
    from simulrag.errors import InputError

    project = find_project()
    options = {key: value for key, value in given.items() if value is not None}
    others = [f"--{key}" for key in options if key not in TAKES.get(name, ())]
    if others:
        raise InputError(f"stage {name} does not take {', '.join(others)}")
    if ("benchmark" in options) != ("out" in options):
        raise InputError("--benchmark and --out go together: data/ holds the pipeline's own outs")
    if name in ("simulators", "report") and not options:
        import_module(f"flows.stages.{name}").run(project)
        return
    if domain is None:
        raise InputError(f"stage {name} needs --domain, such as --domain urban")
    import_module(f"flows.stages.{name}").run(project, domain, **options)


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
