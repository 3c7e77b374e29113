"""A stage as a Prefect flow and its steps as tasks; or the same functions without Prefect.

Prefect watches; it decides nothing. A task is a step over a chunk of questions with no cache of
its own, since every call inside is in the call cache. If the server goes away the stage goes on
without it: what was done is in the call cache and is not paid for again.
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


class TrackingLostError(Exception):
    """Prefect failed, not the work."""


class _PrefectTracker:
    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        from prefect import task
        from prefect.cache_policies import NO_CACHE

        failed: list[Exception] = []

        async def run() -> Result:
            try:
                return await work()
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
            return await step()
        except Exception as error:
            if failed:
                raise
            raise TrackingLostError(str(error)) from error

    async def markdown(self, key: str, text: str) -> None:
        from prefect.artifacts import acreate_markdown_artifact

        try:
            await acreate_markdown_artifact(markdown=text, key=key)
        except Exception as error:  # the table is on the terminal too
            _warn(f"the Prefect server took no artifact: {error}")


async def tracked(
    stage: str,
    run_name: str,
    tags: Sequence[str],
    body: Callable[[Tracker], Awaitable[Result]],
    root: Path | None,
) -> Result:
    """Run a stage's body as a flow run, or plainly where ``root`` is None.

    The body writes its outs before it returns, so that an error of Prefect's after that is a
    warning. Where Prefect fails earlier the body is run again without it.
    """
    if root is None:
        return await body(Untracked())
    outcome: list[Result] = []
    failure: list[Exception] = []

    async def run() -> None:
        try:
            outcome.append(await body(_PrefectTracker()))
        except TrackingLostError:
            raise
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
        text = " ".join(str(error).split())[:200] or type(error).__name__
        _warn(f"Prefect is not watching this stage: {text}")
    finally:
        done.set()
    return outcome[0] if outcome else await body(Untracked())


def _connect(root: Path, done: threading.Event) -> None:
    """Find or start the server, and keep it from idling out while the stage works."""
    os.environ["PREFECT_API_URL"] = server.wait(root)

    def keep_alive() -> None:
        while not done.wait(KEEP_ALIVE_S):
            server.touch(root)

    threading.Thread(target=keep_alive, daemon=True).start()


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")
