"""A stage as a Prefect flow and its steps as tasks, where somebody watches; else the same without.

Prefect watches; it decides nothing. A task is a step over a chunk of questions with no cache of
its own, since every call inside is in the call cache. The body runs once whatever becomes of the
server, and where no server answers Prefect is not imported.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from flows.watch import server
from flows.watch.progress import say

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project

Result = TypeVar("Result")
Cell = str | int | float | None
Rows = Sequence[dict[str, Cell]]


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

    async def table(self, key: str, rows: Callable[[], Rows], about: str) -> None:
        """Show rows that have the same columns; where nobody watches they are not made."""
        ...


class Untracked:
    """A tracker that shows nothing."""

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:  # noqa: ARG002
        """Run the step."""
        return await work()

    def expect(self, total: int) -> None:
        """Show nothing."""

    def advance(self) -> None:
        """Show nothing."""

    async def markdown(self, key: str, text: str) -> None:
        """Show nothing."""

    async def table(self, key: str, rows: Callable[[], Rows], about: str) -> None:
        """Show nothing."""


def run_stage(
    project: Project,
    params: Params,
    name: str,
    run_name: str,
    tags: Sequence[str],
    *,
    body: Callable[[Tracker], Awaitable[Result]],
) -> Result:
    """Run a stage's body in its event loop, watched by Prefect unless that is off."""
    say(run_name)
    watched = params.operations.prefect == "auto"
    root = project.root if watched else None
    all_tags = [*tags, f"params:{params.digest()}"]
    return asyncio.run(tracked(name, run_name, all_tags, body, root))


async def tracked(
    stage: str,
    run_name: str,
    tags: Sequence[str],
    body: Callable[[Tracker], Awaitable[Result]],
    root: Path | None,
) -> Result:
    """Run a stage's body as a flow run, or plainly where ``root`` is None or no server answers."""
    url = None if root is None else server.find(root)
    if root is None or url is None:
        return await body(Untracked())
    server.configure(root)
    os.environ["PREFECT_API_URL"] = url
    try:
        from flows.watch.prefect_tracker import run_as_flow
    except ImportError as error:
        warn(f"Prefect cannot be imported, so nobody watches this stage: {short(error)}")
        return await body(Untracked())
    return await run_as_flow(stage, run_name, tags, body)


def short(error: BaseException) -> str:
    """An error as one short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def warn(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"warning: {text}\n")
