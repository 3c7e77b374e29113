"""``simulrag serve``: refreshes on the schedule of params.yaml, until it is stopped.

It uses the Prefect server that PREFECT_API_URL names, else this project's own on loopback. The
server plans the runs and this process carries them out, one at a time.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime

from flows.params import load_params
from flows.project import Project
from flows.refresh.periods import last_fire, owed
from flows.refresh.refresh import branch_of, check_models, pasts
from flows.sections import RefreshParams
from flows.watch import server
from simulrag.errors import EnvironmentFault

NAME = "refresh"

_YAML = """\
# Made by `simulrag serve --yaml` from params.yaml (operations.refresh); do not edit it.
# For a Prefect server and workers of your own; docs/schedule.md says how.
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
    """The deployment for ``prefect deploy``."""
    return _YAML.format(name=NAME, cron=params.cron, timezone=params.timezone)


def serve(project: Project, port: int) -> None:
    """Register the deployment, ask for what is owed, and work until interrupted."""
    params = load_params(project.params)
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
    from prefect.runner import Runner
    from prefect.schedules import Cron

    from flows.refresh.flow import refresh

    # Runs go on being planned while nobody serves: what was missed is then seen in the UI too.
    runner = Runner(name=NAME, pause_on_shutdown=False, limit=1)
    runner.add_flow(
        refresh, name=NAME, schedule=Cron(schedule.cron, timezone=schedule.timezone), tags=[NAME]
    )
    done = pasts(project, params)
    if period := owed(schedule, done[0].period if done else None, datetime.now(UTC)):
        sys.stdout.write(f"making up {period}\n")
        run_deployment(
            f"{refresh.name}/{NAME}",
            parameters={"period": period},
            timeout=0,
            flow_run_name=branch_of(params, period),
        )
    where = os.environ["PREFECT_API_URL"].removesuffix("/api")
    sys.stdout.write(f"serving refresh at '{schedule.cron}' {schedule.timezone}; UI: {where}\n")
    sys.stdout.flush()
    asyncio.run(runner.start())
