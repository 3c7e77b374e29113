"""``simulrag agreement ONE TWO``: how far two runs' answers agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def agreement(
    one: Annotated[Path, typer.Argument(help="Answers of one run, JSONL.")],
    two: Annotated[Path, typer.Argument(help="Answers of the other run, JSONL.")],
) -> None:
    """How far two runs over the same questions agree: a JSON object a line.

    For example a run with ``claims_per_call: {boundary: 1, verify: 1}`` and one with batches.
    """
    import dataclasses
    import json

    from flows.files import read_records
    from simulrag.errors import InputError
    from simulrag.metrics.run_agreement import agreements
    from simulrag.records import Answer

    first, second = (read_records(path, Answer) for path in (one, two))
    if not {answer.question_id for answer in first} & {answer.question_id for answer in second}:
        raise InputError(f"{one} and {two} share no question")
    for figure in agreements(first, second):
        typer.echo(json.dumps(dataclasses.asdict(figure)))
