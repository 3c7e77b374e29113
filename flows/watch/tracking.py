"""What is seen of a stage: its progress, and a flow of Prefect where somebody watches.

Prefect watches; it decides nothing. A task is a step over a chunk of questions with no cache of
its own, since every call inside is in the call cache. The body runs once whatever becomes of the
server, and where no server answers Prefect is not imported.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from flows.watch import server
from flows.watch.progress import Progress

PERIOD = "SIMULRAG_PERIOD"
"""Environment variable: the period of the refresh that a stage is part of."""
PARENT = "SIMULRAG_FLOW_RUN"
"""Environment variable: the id of the flow run that stages stand under."""

Result = TypeVar("Result")
Cell = str | int | float | None
Rows = Sequence[dict[str, Cell]]


class Tracker:
    """What a stage's body tells whoever watches; the terminal shows its ``progress``."""

    def __init__(self) -> None:
        self.progress = Progress()

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run one step over one chunk."""
        self.progress.step = name
        return await work()

    def expect(self, more: int) -> None:
        """Say that so many units of work are still to come, at least: one is a question in a step.

        A stage of several passes may say all of them ahead; none is counted twice.
        """
        self.progress.total = max(self.progress.total, self.progress.done + more)

    def advance(self) -> None:
        """Say that one of them is done."""
        self.progress.done += 1

    def warn(self, text: str) -> None:
        """Say what its reader has to know of a stage that comes through."""
        warn(text)

    async def markdown(self, key: str, text: str) -> None:
        """Show a text of the stage."""

    async def table(self, key: str, rows: Callable[[], Rows], about: str) -> None:
        """Show rows that have the same columns; they are made only where Prefect watches."""


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
        return await body(Tracker())
    server.configure(root)
    os.environ["PREFECT_API_URL"] = url
    try:
        from flows.watch.prefect_tracker import run_as_flow
    except ImportError as error:
        warn(f"Prefect cannot be imported, so nobody watches this stage: {short(error)}")
        return await body(Tracker())
    return await run_as_flow(stage, run_name, tags, body)


def say(text: str) -> None:
    """A line on stderr, and in the log of the flow run where one is watched."""
    sys.stderr.write(f"{text}\n")
    said = logging.getLogger(server.SAID)
    said.propagate = False  # it is on the terminal
    said.setLevel(logging.INFO)
    if text.strip():
        said.info(text)


def short(error: BaseException) -> str:
    """An error as one short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def warn(text: str) -> None:
    """One line on stderr, yellow on a terminal."""
    say(f"\x1b[33mwarning: {text}\x1b[0m" if sys.stderr.isatty() else f"warning: {text}")
