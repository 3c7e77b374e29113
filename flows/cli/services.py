"""``simulrag mcp``, ``ui``, ``refresh`` and ``serve``: an assistant, a browser, a schedule."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows.files import write_text
from flows.params import load_params, open_project
from flows.project import find_project
from flows.watch import server
from simulrag.errors import InputError, SimulRAGError

Port = Annotated[int, typer.Option(min=1, max=65535, help="The server's port on 127.0.0.1.")]

app = typer.Typer()


@app.command()
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
    from flows.assistant import AssistantDesk, serve_stdio  # with MCP, which is an extra

    if model is not None and not allow:
        raise InputError("--model is of use with --allow-calls-that-cost only")
    served = find_project(project)
    load_params(served.params)  # what is wrong there is said before anybody waits
    os.chdir(served.root)
    asyncio.run(serve_stdio(AssistantDesk(served, allowed=allow, model=model)))


@app.command()
def refresh(
    period: Annotated[
        str | None, typer.Option(help="When it began, such as 2026-11-23T0300Z (the current one).")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also where it is done, on today's commit.")
    ] = False,
) -> None:
    """Draw new questions for a period, and see what moved.

    It runs the whole pipeline on them; the result is a git branch.
    """
    # Late, as below: with numpy and DVC, which neither `mcp` nor `ui` needs.
    from flows.refresh.periods import last_fire, moment_of, name_of
    from flows.refresh.refresh import check_models, done_already, end_of, refresh_period

    project, params = open_project()
    server.configure(project.root)
    wanted = period or name_of(last_fire(params.operations.refresh, datetime.now(UTC)))
    if moment_of(wanted) > datetime.now(UTC):
        raise InputError(f"period {wanted} has not begun; give one that has")
    check_models(params)
    if (done := done_already(project, params, wanted)) and not again:
        typer.echo(done)
        return
    record = refresh_period(project, wanted)
    typer.echo(end_of(project, params, record))
    if record.status != "completed":
        raise SimulRAGError("; ".join(record.reasons) or "the pipeline failed; its words are above")


@app.command()
def serve(
    port: Port = 4200,
    as_yaml: Annotated[
        bool, typer.Option("--yaml", help="Write prefect.yaml from params.yaml and end.")
    ] = False,
) -> None:
    """Run refreshes on the schedule of params.yaml."""
    from flows.refresh import serve as serving

    project = find_project()
    if as_yaml:
        params = load_params(project.params).operations.refresh
        write_text(project.root / "prefect.yaml", serving.prefect_yaml(params))
        return
    serving.serve(project, port)


@app.command()
def ui(
    port: Port = 4200,
    stop: Annotated[bool, typer.Option("--stop", help="End the server.")] = False,
) -> None:
    """Start Prefect's UI in the background, to watch stages."""
    root = find_project().root
    if stop:
        typer.echo("stopped" if server.stop(root) else "no server of this project runs")
        return
    url = server.start(root, port)
    typer.echo(f"Prefect UI: {url.removesuffix('/api')}  (`simulrag ui --stop` ends it)")
