"""``simulrag mcp``: this project as tools for an assistant that speaks MCP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def mcp(
    project: Annotated[
        Path | None, typer.Option(help="The project's folder (default: the working directory).")
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
    from flows.assistant.server import serve_stdio
    from flows.params import load_params
    from flows.project import find_project
    from simulrag.errors import InputError

    if model is not None and not allow:
        raise InputError("--model is of use with --allow-calls-that-cost only")
    found = find_project(project)
    load_params(found.params)  # what is wrong there is said before anybody waits
    os.chdir(found.root)
    asyncio.run(serve_stdio(AssistantDesk(found, allowed=allow, model=model)))
