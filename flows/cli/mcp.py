"""``simulrag mcp``: this project as tools for an assistant that speaks MCP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

TOKEN = "SIMULRAG_MCP_TOKEN"  # noqa: S105 the name of a variable


def mcp(
    project: Annotated[
        Path | None, typer.Option(help="The project's folder (default: the working directory).")
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help=f"Serve over HTTP on 127.0.0.1 instead of stdio; {TOKEN} holds the token.",
        ),
    ] = None,
    allow: Annotated[
        bool,
        typer.Option(
            "--allow-calls-that-cost",
            help="Let an assistant ask models and run services of somebody else's.",
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(help="The model that new questions are asked, as in `simulrag ask`."),
    ] = None,
) -> None:
    """Serve ask, simulate, handbook and questions to an assistant (MCP); read-only by default."""
    import asyncio

    from flows.assistant.desk import AssistantDesk
    from flows.params import load_params
    from flows.project import find_project
    from simulrag.errors import EnvironmentFault, InputError

    if model is not None and not allow:
        raise InputError("--model is of use with --allow-calls-that-cost only")
    found = find_project(project)
    load_params(found.params)  # what is wrong there is said before anybody waits
    os.chdir(found.root)
    desk = AssistantDesk(found, allowed=allow, model=model)
    if http is None:
        from flows.assistant.server import serve_stdio

        asyncio.run(serve_stdio(desk))
        return
    from flows.assistant.server import TOKEN_LETTERS, serve_http

    token = os.environ.get(TOKEN, "").strip()
    if len(token) < TOKEN_LETTERS or not token.isascii():
        raise EnvironmentFault(
            f"set {TOKEN} to a secret of {TOKEN_LETTERS} letters or more; clients send it as a "
            "bearer token"
        )
    serve_http(desk, http, token)
