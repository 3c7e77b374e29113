"""The generated reference: every command and every parameter, from the code that defines them.

``python -m flows.cli.reference`` writes docs/reference.md; a test compares.
"""

from __future__ import annotations

import argparse

import typer.main

from flows.cli.app import app
from flows.files import write_text
from flows.params import describe
from flows.project import find_project
from flows.stages.bench import exits


def reference() -> str:
    """The page, as Markdown."""
    lines = [
        "# Reference",
        "",
        "Made by `python -m flows.cli.reference` from the code; do not edit it by hand.",
        "",
        "## Commands",
        "",
        "`simulrag COMMAND --help` tells each one's arguments. A mistake of the user's ends with",
        "one line and exit code 2, a fault of the machine or a failed run with exit code 1.",
        "",
        "| command | what it does |",
        "| --- | --- |",
        *(
            f"| `simulrag {name}` | {text} |"
            for name, text in _commands(typer.main.get_command(app))
        ),
        "",
        "## Parameters",
        "",
        "| in params.yaml | meaning |",
        "| --- | --- |",
        *(f"| `{name}` | {meaning} |" for name, meaning in describe()),
    ]
    return "\n".join(lines) + "\n"


def _commands(group: object, prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, command in sorted(getattr(group, "commands", {}).items()):
        if getattr(command, "commands", None):
            rows += _commands(command, f"{prefix}{name} ")
        else:
            rows.append((f"{prefix}{name}", " ".join((command.help or "").split())))
    return rows


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    write_text(find_project().root / "docs" / "reference.md", reference())


if __name__ == "__main__":
    raise SystemExit(exits(main))
