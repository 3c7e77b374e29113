"""``simulrag agreement``: how far two runs' answers agree."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer


def agreement(
    one: Annotated[Path, typer.Argument(help="Answers of one run, JSONL.")],
    two: Annotated[Path, typer.Argument(help="Answers of the other run, JSONL.")],
) -> None:
    """Compare two runs' answers to the same questions.

    For example with one claim a call and with many. One JSON object a line (name, value, unit, n).
    """
    from flows.files import read_records
    from simulrag.errors import InputError
    from simulrag.metrics.run_agreement import agreements
    from simulrag.records import Answer

    first, second = (read_records(path, Answer) for path in (one, two))
    if not {answer.question_id for answer in first} & {answer.question_id for answer in second}:
        raise InputError(f"{one} and {two} share no question")
    for figure in agreements(first, second):
        typer.echo(json.dumps(dataclasses.asdict(figure)))
