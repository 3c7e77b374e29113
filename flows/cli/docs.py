"""``simulrag docs``: files that are written from the code that defines what they tell."""

from __future__ import annotations

import typer

from flows.cli.app import every_command
from flows.files import write_text
from flows.params import describe
from flows.project import find_project
from flows.running.lineage import dvc_yaml, without_the_gone
from flows.stages import stage_names, stages

app = typer.Typer()
docs_app = typer.Typer(no_args_is_help=True, help="Pages of the documentation made from the code.")
app.add_typer(docs_app, name="docs")


@docs_app.command("reference")
def write_reference() -> None:
    """Write docs/reference.md; a test compares."""
    write_text(find_project().root / "docs" / "reference.md", reference())


@docs_app.command("dvc")
def write_dvc() -> None:
    """Write dvc.yaml from the declarations of stages; those that are gone leave dvc.lock.

    A test compares both.
    """
    root = find_project().root
    write_text(root / "dvc.yaml", dvc_yaml(stages()))
    lock = root / "dvc.lock"
    if lock.is_file():
        write_text(lock, without_the_gone(lock.read_text(encoding="utf-8"), stage_names()))


def reference() -> str:
    """The page, as Markdown."""
    commands = [
        (name, " ".join((command.help or "").split()))
        for name, command in every_command()
        if not hasattr(command, "commands")
    ]
    lines = [
        "# Reference",
        "",
        "Made by `simulrag docs reference` from the code; do not edit it by hand.",
        "",
        "## Commands",
        "",
        "`simulrag COMMAND --help` tells each one's arguments. A mistake of the user's ends with",
        "one line and exit code 2, a fault of the machine or a failed run with 1, calls that wait",
        "for a batch with 75, Ctrl-C with 130.",
        "",
        "| command | what it does |",
        "| --- | --- |",
        *(f"| `simulrag {name}` | {text} |" for name, text in commands),
        "",
        "## Parameters",
        "",
        "`ROLE` is `benchmark`, `answer` or `judge`.",
        "",
        "| in params.yaml | meaning |",
        "| --- | --- |",
        *(f"| `{name}` | {meaning} |" for name, meaning in _by_role(describe())),
    ]
    return "\n".join(lines) + "\n"


def _by_role(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters with one row for the three models' equal sections: ``llm.ROLE``."""
    first = "llm.benchmark."
    others = ("llm.answer.", "llm.judge.")
    return [
        (f"llm.ROLE.{name.removeprefix(first)}" if name.startswith(first) else name, meaning)
        for name, meaning in rows
        if not name.startswith(others)
    ]
