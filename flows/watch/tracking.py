"""A stage as a Prefect flow and its steps as tasks; or the same functions without Prefect.

Prefect watches; it decides nothing. A task is a step over a chunk of questions with no cache of
its own, since every call inside is in the call cache. If the server goes away the stage goes on
without it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from flows.watch import server
from flows.watch.watching import PrefectTracker, give_up_early, short, warn

Result = TypeVar("Result")
Cell = str | int | float | None
KEEP_ALIVE_S = 60.0


class Tracker(Protocol):
    """What a stage's body tells whoever watches."""

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run one step over one chunk."""
        ...

    def expect(self, total: int) -> None:
        """Say how many units of work are to come: a question in a step is one."""
        ...

    def advance(self) -> None:
        """Say that one of them is done."""
        ...

    async def markdown(self, key: str, text: str) -> None:
        """Show a text of the stage."""
        ...

    async def table(self, key: str, rows: Sequence[dict[str, Cell]], about: str) -> None:
        """Show rows that have the same columns."""
        ...


class Untracked:
    """Nobody watches."""

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:  # noqa: ARG002
        """Run the step."""
        return await work()

    def expect(self, total: int) -> None:
        """Show nothing."""

    def advance(self) -> None:
        """Show nothing."""

    async def markdown(self, key: str, text: str) -> None:
        """Show nothing."""

    async def table(self, key: str, rows: Sequence[dict[str, Cell]], about: str) -> None:
        """Show nothing."""


async def tracked(
    stage: str,
    run_name: str,
    tags: Sequence[str],
    body: Callable[[Tracker], Awaitable[Result]],
    root: Path | None,
) -> Result:
    """Run a stage's body as a flow run, or plainly where ``root`` is None.

    The body runs once. Where Prefect fails before it starts it runs untracked; where Prefect
    fails later it goes on, and its outs are written before the flow returns.
    """
    if root is None:
        return await body(Untracked())
    started = False
    outcome: list[Result] = []
    failure: list[Exception] = []

    async def run() -> None:
        nonlocal started
        started = True
        try:
            tracker = PrefectTracker()
            async with tracker.watching(run_name):
                outcome.append(await body(tracker))
        except Exception as error:
            failure.append(error)
            raise

    done = threading.Event()
    try:
        _connect(root, done)
        give_up_early()
        from prefect import flow
        from prefect import tags as tagged

        with tagged(*tags):
            await flow(
                name=stage, flow_run_name=run_name, persist_result=False, validate_parameters=False
            )(run)()
    except Exception as error:
        if failure:
            raise failure[0] from None
        warn(f"Prefect is not watching this stage: {short(error)}")
    finally:
        done.set()
    if not started:
        return await body(Untracked())
    return outcome[0]


def _connect(root: Path, done: threading.Event) -> None:
    """Find or start the server, and keep it from idling out while the stage works."""
    server.configure(root)
    server.begin(root)
    os.environ["PREFECT_API_URL"] = server.wait(root)

    def keep_alive() -> None:
        while not done.wait(KEEP_ALIVE_S):
            server.touch(root)

    threading.Thread(target=keep_alive, daemon=True).start()
