"""Options that several commands share, and JSON in and out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from simulrag.errors import InputError
from simulrag.models.providers.registry import model_settings
from simulrag.models.settings import ModelSettings

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Endpoint = Annotated[
    str | None,
    typer.Option(
        help="The server's name in the keys of its calls (default: an address's host and port)."
    ),
]
KeyEnv = Annotated[
    str | None,
    typer.Option(
        "--key-env", metavar="NAME", help="Name of the environment variable that holds its key."
    ),
]
Free = Annotated[
    bool,
    typer.Option("--free", help="A server of your own: its calls cost nothing, and no budget."),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Only so many questions of each domain, drawn by --seed."),
]
Seed = Annotated[int, typer.Option(help="Which ones --limit draws: for a seed always the same.")]
DomainArgument = Annotated[
    str, typer.Argument(help="A domain of params.yaml, an installed simulator, or module:Class.")
]


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show(as_json: bool, value: object, *lines: str) -> None:
    """Print the value as JSON for programs, or the lines for people."""
    if as_json:
        print_json(value)
        return
    for line in lines:
        typer.echo(line)


def json_object(text: str, what: str, example: str) -> dict[str, Any]:
    """Return an option's JSON object.

    Raises InputError, which names the option and gives an example.
    """
    form = f"write an object such as '{example}'"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON in {what} ({error}): {form}") from None
    if not isinstance(value, dict):
        raise InputError(f"no JSON object in {what}: {form}")
    return value


def look_here(simulator: str) -> None:
    """Look for a ``module:Class`` that is not installed in this folder, and in its ``src``."""
    if ":" in simulator:
        sys.path[:0] = [str(Path.cwd()), str(Path("src").absolute())]


def chosen_model(
    model: str | None, endpoint: str | None, key_env: str | None, *, free: bool
) -> ModelSettings | None:
    """Return the model of ``--model``, if any. Raises InputError for its options without it."""
    if model is not None:
        return model_settings(model, endpoint, key_env=key_env, free=free)
    if endpoint or key_env or free:
        raise InputError("--endpoint, --key-env and --free are of the model: name one by --model")
    return None
