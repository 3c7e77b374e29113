"""Options that several commands share, and JSON for programs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DomainArgument = Annotated[str, typer.Argument(help="A domain of params.yaml.")]


def print_json(value: object) -> None:
    """A value as indented JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
