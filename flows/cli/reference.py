"""``simulrag docs reference``: every command and parameter, from the code that defines them."""

from __future__ import annotations

import typer

docs_app = typer.Typer(no_args_is_help=True, help="Pages of the documentation made from the code.")


@docs_app.command("reference")
def write_reference() -> None:
    """Write docs/reference.md; a test compares."""
    from flows.files import write_text
    from flows.project import find_project

    write_text(find_project().root / "docs" / "reference.md", reference())


@docs_app.command("dvc")
def write_dvc() -> None:
    """Write dvc.yaml from the declarations of stages; those that are gone leave dvc.lock.

    A test compares both.
    """
    from flows.files import write_text
    from flows.project import find_project
    from flows.running.lineage import dvc_yaml, without_the_gone
    from flows.stages import stage_names, stages

    root = find_project().root
    write_text(root / "dvc.yaml", dvc_yaml(stages()))
    lock = root / "dvc.lock"
    if lock.is_file():
        write_text(lock, without_the_gone(lock.read_text(encoding="utf-8"), stage_names()))


def reference() -> str:
    """The page, as Markdown."""
    import typer.main

    from flows.cli.app import app
    from flows.params import describe

    commands = _commands(typer.main.get_command(app))
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


def _commands(group: object, prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, command in sorted(getattr(group, "commands", {}).items()):
        if getattr(command, "commands", None):
            rows += _commands(command, f"{prefix}{name} ")
        else:
            rows.append((f"{prefix}{name}", " ".join((command.help or "").split())))
    return rows
