"""What a stage shows in the Prefect UI: task runs, artifacts, and progress that moves.

Every call to the server may fail, and the first that does ends the watching, never the work.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from uuid import UUID

    from prefect import Task

    from flows.watch.tracking import Cell

Result = TypeVar("Result")

PROGRESS_S = 2.0
"""Seconds between two updates of the progress artifact."""


class PrefectTracker:
    """Steps as tasks until Prefect fails; from then on plain steps."""

    def __init__(self) -> None:
        self._lost = False
        self._done = 0
        self._total = 0
        self._step = ""
        self._impatience = ExitStack()

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run one step over one chunk as a task run; once, whatever becomes of Prefect."""
        if self._lost:
            return await work()
        self._step = name
        done: list[Result] = []
        failed: list[Exception] = []

        async def run() -> None:
            try:
                done.append(await work())
            except Exception as error:
                failed.append(error)
                raise

        try:
            await _task(_kind(name))(name, run)
        except Exception as error:
            if failed:
                raise failed[0] from None
            self._lose(error)
        return done[0] if done else await work()

    def expect(self, total: int) -> None:
        """``total`` units of work are to come."""
        self._total += total

    def advance(self) -> None:
        """One of them is done."""
        self._done += 1

    async def markdown(self, key: str, text: str) -> None:
        """A Markdown artifact; its key is ``key`` with what Prefect's keys cannot hold replaced."""
        from prefect.artifacts import acreate_markdown_artifact

        await self._show(lambda: acreate_markdown_artifact(text, key=artifact_key(key)))

    async def table(self, key: str, rows: Sequence[dict[str, Cell]], about: str) -> None:
        """A table artifact."""
        from prefect.artifacts import acreate_table_artifact

        listed: list[dict[str, Any]] = [dict(row) for row in rows]
        await self._show(
            lambda: acreate_table_artifact(listed, key=artifact_key(key), description=about)
        )

    @asynccontextmanager
    async def watching(self, key: str) -> AsyncIterator[None]:
        """A progress artifact follows ``advance`` for as long as the context is open.

        Task runs have no tags of their own: Prefect asks the server for a slot of each tag's
        concurrency limit before each task run that has some.
        """
        from prefect.context import TagsContext

        follow = _Follower(artifact_key(f"{key}-progress"))

        async def move() -> None:
            while not self._lost:
                await asyncio.sleep(PROGRESS_S)
                if self._total:
                    await self._show(lambda: follow.to(self._percent(), self._words()))

        moving = asyncio.create_task(move())
        try:
            with TagsContext(current_tags=set()):
                yield
        finally:
            moving.cancel()
            await asyncio.gather(moving, return_exceptions=True)
            self._hurry()
        if self._total:
            await self._show(lambda: follow.to(self._percent(), self._words()))
            self._hurry()

    def _percent(self) -> float:
        return round(min(100.0, 100 * self._done / self._total), 1) if self._total else 0.0

    def _words(self) -> str:
        return f"{self._step}: {self._done} of {self._total}"

    def _hurry(self) -> None:
        """Where the server is gone, let the flow end without waiting for it.

        To be called in the flow's own context, where its last requests look for their settings.
        """
        from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

        if self._lost:
            self._impatience.enter_context(temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}))

    async def _show(self, show: Callable[[], Awaitable[object]]) -> None:
        if self._lost:
            return
        try:
            await show()
        except Exception as error:  # what an artifact shows is on the terminal too
            self._lose(error)

    def _lose(self, error: Exception) -> None:
        if not self._lost:
            warn(f"the Prefect server is gone and the stage goes on without it: {short(error)}")
        self._lost = True


class _Follower:
    """One progress artifact, made when there is something to show and updated when it changed."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._id: UUID | None = None
        self._shown = ""

    async def to(self, percent: float, words: str) -> None:
        from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact

        if words == self._shown:
            return
        if self._id is None:
            self._id = await acreate_progress_artifact(percent, key=self._key, description=words)
        else:
            await aupdate_progress_artifact(self._id, percent, description=words)
        self._shown = words


def give_up_early() -> None:
    """Have Prefect try twice, and not eleven times over seven seconds, to send an event."""
    from prefect.events.clients import PrefectEventsClient
    from prefect.events.worker import EventsWorker, emit_events_to_cloud

    # At a stage's end it tells of each event that is still on its way.
    logging.getLogger(EventsWorker.__name__).setLevel(logging.CRITICAL)
    if not emit_events_to_cloud():  # the cloud has a client of its own
        EventsWorker.set_client_override(PrefectEventsClient, reconnection_attempts=1)


def artifact_key(name: str) -> str:
    """``name`` in the letters that Prefect's artifact keys may hold."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def short(error: BaseException) -> str:
    """An error as one short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def warn(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"warning: {text}\n")


def _kind(name: str) -> str:
    """``verify`` of ``verify 1-50``: what the task is called, whatever chunk it runs over."""
    return name.rpartition(" ")[0] or name


@cache
def _task(kind: str) -> Task[[str, Callable[[], Awaitable[None]]], Any]:
    """One task a kind of step: making one reads this file's source again, 5 ms each time."""
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    return task(name=kind, task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)(
        _run
    )


async def _run(name: str, work: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG001 the run's name
    await work()
