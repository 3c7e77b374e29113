"""``python -m flows.refresh.serve``: runs refreshes on the schedule of params.yaml until it is stopped.

It uses the Prefect server that PREFECT_API_URL names, else this project's own on loopback. The
server plans the runs and this process carries them out, one at a time. ``--yaml`` writes
prefect.yaml, the same deployment for a server and workers of your own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from flows.watch import server
from flows.files import write_text
from flows.params import load_params
from flows.refresh.periods import last_fire, owed
from flows.project import Project, find_project
from flows.refresh.refresh import done_periods, unfinished
from flows.refresh.params import RefreshParams
from flows.stages.bench import exits

NAME = "refresh"
KEEP_ALIVE_S = 60.0

_YAML = """\
# Made by `python -m flows.refresh.serve --yaml` from params.yaml (operations.refresh); do not edit it.
# For a Prefect server and workers of your own; docs/schedule.md says how.
name: simulrag
deployments:
  - name: {name}
    entrypoint: flows/refresh_flow.py:refresh
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


def to_make_up(project: Project) -> list[str]:
    """What to run before the next firing: a killed refresh, and the missed periods."""
    params = load_params(project.params).operations.refresh
    done = done_periods(project)
    left = unfinished(project)
    missed = owed(params, done[0] if done else None, datetime.now(UTC))
    return sorted({*missed, *([left[0]] if left else [])})


def serve(project: Project) -> None:
    """Register the deployment, ask for what is owed, and work until interrupted."""
    server.configure(project.root)  # before anything imports Prefect, which reads it once
    os.environ.setdefault("SIMULRAG_PROJECT", str(project.root))
    server.begin(project.root)
    os.environ["PREFECT_API_URL"] = server.wait(project.root)
    params = load_params(project.params).operations.refresh
    last_fire(params, datetime.now(UTC))  # a wrong schedule is the user's to see
    _keep_alive(project.root)
    from prefect.deployments import run_deployment
    from prefect.runner import Runner
    from prefect.schedules import Cron

    from flows.refresh.flow import refresh

    # Runs go on being planned while nobody serves: what was missed is then seen in the UI too.
    runner = Runner(name=NAME, pause_on_shutdown=False, limit=1)
    runner.add_flow(
        refresh, name=NAME, schedule=Cron(params.cron, timezone=params.timezone), tags=[NAME]
    )
    for period in to_make_up(project):
        sys.stdout.write(f"making up {period}\n")
        run_deployment(f"{refresh.name}/{NAME}", parameters={"period": period}, timeout=0)
    where = os.environ["PREFECT_API_URL"].removesuffix("/api")
    sys.stdout.write(f"serving refresh at '{params.cron}' {params.timezone}; UI: {where}\n")
    sys.stdout.flush()
    asyncio.run(runner.start())


def _keep_alive(root: Path) -> None:
    """Keep the shared server from idling out between two firings."""

    def touch() -> None:
        while True:
            server.touch(root)
            threading.Event().wait(KEEP_ALIVE_S)

    threading.Thread(target=touch, daemon=True).start()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--yaml", action="store_true", help="write prefect.yaml and end")
    project = find_project()
    if parser.parse_args().yaml:
        params = load_params(project.params).operations.refresh
        write_text(project.root / "prefect.yaml", prefect_yaml(params))
        return
    serve(project)


if __name__ == "__main__":
    raise SystemExit(exits(main))
