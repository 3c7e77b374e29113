"""``simulrag check``: any text, held against runs that its claims send for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import Endpoint, Free, Json, KeyEnv, chosen_model, print_json

WRONG = 3
"""The exit code where something in the text is wrong."""


def check(
    file: Annotated[str, typer.Argument(help="A file of the text, or - for standard input.")],
    domain: Annotated[
        str, typer.Option("--domain", "-d", help="A domain of params.yaml: whose simulator runs.")
    ],
    question: Annotated[
        str,
        typer.Option(
            help="What the text answers, or the situation that it speaks of; or a question's id."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The model that checks: openai:gpt-5-mini ... (default: llm.answer)."),
    ] = None,
    endpoint: Endpoint = None,
    key_env: KeyEnv = None,
    free: Free = False,
    mend: Annotated[
        bool, typer.Option("--mend", help="Put right what is wrong, add what is missing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a text of anybody's, statement by statement, by runs made for what it claims.

    Exit code 3 where a statement is wrong; what no run decides is no fault.
    """
    from flows.asking import check_anew, find_question
    from flows.cli.answers import answer_json, show_answer
    from flows.params import open_project

    chosen = chosen_model(model, endpoint, key_env, free=free)
    project, params = open_project()
    params.simulator(domain)
    params = params.answering(chosen)
    known = find_question(project, params, question, domain)
    asked = known.text if known else question
    answer, source = check_anew(project, params, _read(file), asked, domain, mend=mend)
    if as_json:
        print_json({"source": source, **answer_json(asked, answer)})
    else:
        show_answer(asked, answer, source, params.answer.centrality, given=True)
    if any(one.standing in ("wrong", "corrected") for one in answer.final.statements):
        raise typer.Exit(WRONG)


def _read(file: str) -> str:
    """The text. Raises InputError for a file that is not there or not UTF-8."""
    from simulrag.errors import InputError

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text") from None
