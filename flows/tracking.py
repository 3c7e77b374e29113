"""A stage as a Prefect flow and its steps as tasks; or the same functions without Prefect.

Prefect watches; it decides nothing. A task is a step over a chunk of questions with no cache of
its own, since every call inside is in the call cache. If the server goes away the stage goes on
without it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from flows import server

Result = TypeVar("Result")
KEEP_ALIVE_S = 60.0


class Tracker(Protocol):
    """What a stage's body tells whoever watches."""

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run one step over one chunk."""
        ...

    async def markdown(self, key: str, text: str) -> None:
        """Show a table of the stage."""
        ...


class Untracked:
    """Nobody watches."""

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:  # noqa: ARG002
        """Run the step."""
        return await work()

    async def markdown(self, key: str, text: str) -> None:
        """Show nothing."""


class _PrefectTracker:
    """Steps as tasks until Prefect fails; from then on plain steps."""

    def __init__(self) -> None:
        self._lost = False

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        if self._lost:
            return await work()
        from prefect import task
        from prefect.cache_policies import NO_CACHE

        done: list[Result] = []
        failed: list[Exception] = []

        async def run() -> None:
            try:
                done.append(await work())
            except Exception as error:
                failed.append(error)
                raise

        step = task(
            name=name.split(" ", maxsplit=1)[0],
            task_run_name=name,
            cache_policy=NO_CACHE,
            persist_result=False,
        )(run)
        try:
            await step()
        except Exception as error:
            if failed:
                raise failed[0] from None
            self._lose(error)
        return done[0] if done else await work()

    def _lose(self, error: Exception) -> None:
        self._lost = True
        _warn(f"the Prefect server is gone and the stage goes on without it: {_short(error)}")

    async def markdown(self, key: str, text: str) -> None:
        from prefect.artifacts import acreate_markdown_artifact

        if self._lost:
            return
        try:
            await acreate_markdown_artifact(markdown=text, key=key)
        except Exception as error:  # the table is on the terminal too
            self._lose(error)


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
            outcome.append(await body(_PrefectTracker()))
        except Exception as error:
            failure.append(error)
            raise

    done = threading.Event()
    try:
        _connect(root, done)
        from prefect import flow
        from prefect import tags as tagged

        with tagged(*tags):
            await flow(
                name=stage, flow_run_name=run_name, persist_result=False, validate_parameters=False
            )(run)()
    except Exception as error:
        if failure:
            raise failure[0] from None
        _warn(f"Prefect is not watching this stage: {_short(error)}")
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


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")
