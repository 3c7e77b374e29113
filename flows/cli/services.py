"""``simulrag mcp``, ``ui``, ``refresh`` and ``serve``: an assistant, a browser, a schedule."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows.files import write_text
from flows.params import Params, load_params, open_project
from flows.project import Project, find_project
from flows.sections import RefreshParams
from flows.watch import server
from simulrag.errors import EnvironmentFault, InputError, SimulRAGError

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
    """Serve ask, check, simulate, handbook and questions to an assistant; read-only by default."""
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
    project, params = open_project()
    if as_yaml:
        write_text(project.root / "prefect.yaml", prefect_yaml(params.operations.refresh))
        return
    from flows.refresh.lock import locked

    with locked(project, "serve", "the project is served already,"):
        serve_refreshes(project, params, port)


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


NAME = "refresh"

_YAML = """\
# Made by `simulrag serve --yaml` from params.yaml (operations.refresh); do not edit it.
# For a Prefect server and workers of your own; docs/operate.md says how.
name: simulrag
deployments:
  - name: {name}
    entrypoint: flows/refresh/flow.py:refresh
    schedules:
      - cron: "{cron}"
        timezone: "{timezone}"
    concurrency_limit:
      limit: 1
      collision_strategy: ENQUEUE
    work_pool:
      name: simulrag
"""


def prefect_yaml(params: RefreshParams) -> str:
    """Return the deployment for ``prefect deploy``."""
    return _YAML.format(name=NAME, cron=params.cron, timezone=params.timezone)


def serve_refreshes(project: Project, params: Params, port: int) -> None:
    """Register the deployment, ask for what is owed, and work until interrupted.

    It uses the Prefect server that PREFECT_API_URL names, else this project's own on loopback. The
    server plans the runs and this process carries them out, one at a time.
    """
    from flows.refresh.lock import Held, locked
    from flows.refresh.periods import last_fire, owed
    from flows.refresh.refresh import branch_of, check_models, pasts

    check_models(params)
    schedule = params.operations.refresh
    # All of it before anything imports Prefect, which reads its environment once.
    server.configure(project.root)
    os.environ.setdefault("SIMULRAG_PROJECT", str(project.root))
    named = os.environ.get("PREFECT_API_URL")
    if named is None:
        os.environ["PREFECT_API_URL"] = server.start(project.root, port)
    elif server.find(project.root) is None:
        raise EnvironmentFault(
            f"no server answers at PREFECT_API_URL ({named}); start it, or unset the variable"
        )
    last_fire(schedule, datetime.now(UTC))  # a wrong schedule is the user's to see
    from prefect.deployments import run_deployment
    from prefect.schedules import Cron

    from flows.refresh.flow import ScheduleRunner, refresh

    # Runs go on being planned while nobody serves: what was missed is then seen in the UI too.
    runner = ScheduleRunner(name=NAME, pause_on_shutdown=False, limit=1)
    runner.add_flow(
        refresh, name=NAME, schedule=Cron(schedule.cron, timezone=schedule.timezone), tags=[NAME]
    )
    done = pasts(project, params)
    if period := owed(schedule, done[0].period if done else None, datetime.now(UTC)):
        try:
            with locked(project, period, f"period {period} is being made"):
                sys.stdout.write(f"making up {period}\n")
            run_deployment(
                f"{refresh.name}/{NAME}",
                parameters={"period": period},
                timeout=0,
                flow_run_name=branch_of(params, period),
            )
        except Held as error:
            sys.stdout.write(f"{error}\n")
    where = os.environ["PREFECT_API_URL"].removesuffix("/api")
    sys.stdout.write(f"serving refresh at '{schedule.cron}' {schedule.timezone}; UI: {where}\n")
    sys.stdout.flush()
    asyncio.run(runner.start())
