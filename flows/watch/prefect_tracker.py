"""What a stage shows in the Prefect UI: a flow run, task runs, artifacts, progress that moves.

Every call to the server may fail, and the first that does ends the watching, never the work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from prefect import Task, flow, task
from prefect import tags as tagged
from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.context import TagsContext
from prefect.events.clients import PrefectEventsClient
from prefect.events.worker import EventsWorker, emit_events_to_cloud
from prefect.flow_engine import run_flow_async
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Completed, Pending

from flows.watch.server import SAID
from flows.watch.tracking import PARENT, PERIOD, Rows, Tracker, short, warn

if TYPE_CHECKING:
    from prefect import Flow, State, Task
    from prefect.client.schemas.objects import FlowRun

Result = TypeVar("Result")

PROGRESS_S = 2.0
"""Seconds between two updates of the progress artifact."""


class _Once:
    """Work that runs once, whoever calls it: what it returned, or the error it raised."""

    def __init__(self, work: Callable[[], Awaitable[Any]]) -> None:
        self._work = work
        self._future: asyncio.Future[Any] | None = None

    async def __call__(self) -> Any:
        if self._future is None:
            self._future = asyncio.ensure_future(self._work())
        return await self._future

    def failed(self) -> bool:
        """Tell whether the work itself raised."""
        future = self._future
        return bool(
            future and future.done() and (future.cancelled() or future.exception() is not None)
        )


async def run_as_flow(
    stage: str,
    run_name: str,
    tags: Sequence[str],
    body: Callable[[Tracker], Awaitable[Result]],
) -> Result:
    """Run a stage's body as a flow run; once, and plainly where Prefect fails before it begins.

    Under a refresh it is a child of the refresh's run, with a tag of the period.
    """
    tracker = PrefectTracker()

    async def watched() -> Result:
        async with tracker.watching(run_name):
            try:
                return await body(tracker)
            except Exception as error:  # the command says it on the terminal
                logging.getLogger(SAID).error(f"{type(error).__name__}: {error}")
                raise

    once = _Once(watched)
    began = False

    async def run() -> State[None] | None:
        nonlocal began
        began = True
        try:
            await once()
        finally:
            tracker.hurry()
        warned = "; ".join(tracker.warnings)
        return Completed(name="CompletedWithWarning", message=warned) if warned else None

    _give_up_early()
    period = os.environ.get(PERIOD)
    of_period = [f"period:{period}"] if period else []
    stage_flow = flow(
        name=stage, flow_run_name=run_name, persist_result=False, validate_parameters=False
    )(run)
    try:
        with tagged(*tags, *of_period) as current:
            await run_flow_async(stage_flow, await _child(stage_flow, run_name, current))
    except Exception as error:
        if not once.failed():
            warn(f"Prefect is not watching this stage: {short(error)}")
    result: Result = await (once() if began else body(Tracker()))
    return result


async def _child(stage_flow: Flow[[], Any], run_name: str, tags: set[str]) -> FlowRun | None:
    """Return a run of the flow below that of the refresh; None where there is none.

    In Prefect a task run of the parent stands for the child, and takes over its states.
    """
    parent = os.environ.get(PARENT)
    if parent is None:
        return None
    stand_in: Task[[], None] = Task(lambda: None, name=run_name)
    async with get_client() as client:
        seen = await client.create_task_run(
            stand_in, UUID(parent), dynamic_key=run_name, state=Pending()
        )
        return await client.create_flow_run(
            stage_flow, name=run_name, parent_task_run_id=seen.id, state=Pending(), tags=tags
        )


class PrefectTracker(Tracker):
    """Steps as tasks until Prefect fails; from then on plain steps."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []
        self._lost = False
        self._progress: UUID | None = None
        self._shown = ""
        self._impatience = ExitStack()

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run one step over one chunk as a task run; once, whatever becomes of Prefect."""
        once = _Once(work)
        if not self._lost:
            self.progress.step = name
            try:
                await _task(name.rpartition(" ")[0] or name)(name, once)
            except Exception as error:
                if not once.failed():
                    self._lose(error)
        result: Result = await once()
        return result

    def warn(self, text: str) -> None:
        """Warn on the terminal, and in the name and message of the flow run's last state."""
        super().warn(text)
        self.warnings.append(text)

    async def markdown(self, key: str, text: str, about: str) -> None:
        """Make a Markdown artifact; of ``key`` is replaced what Prefect's keys cannot hold."""
        await self._show(
            lambda: acreate_markdown_artifact(text, key=artifact_key(key), description=about)
        )

    async def table(self, key: str, rows: Callable[[], Rows], about: str) -> None:
        """Make a table artifact."""
        listed: list[dict[str, Any]] = [dict(row) for row in rows()]
        await self._show(
            lambda: acreate_table_artifact(listed, key=artifact_key(key), description=about)
        )

    @asynccontextmanager
    async def watching(self, key: str) -> AsyncIterator[None]:
        """A progress artifact follows ``progress`` for as long as the context is open.

        Task runs have no tags of their own: Prefect asks the server for a slot of each tag's
        concurrency limit before each task run that has some.
        """

        async def move() -> None:
            while not self._lost:
                await asyncio.sleep(PROGRESS_S)
                await self._show(lambda: self._move(artifact_key(f"{key}-progress")))

        moving = asyncio.create_task(move())
        try:
            with TagsContext(current_tags=set()):
                yield
        finally:
            moving.cancel()
            await asyncio.gather(moving, return_exceptions=True)
            if not self._lost:
                await self._show(lambda: self._move(artifact_key(f"{key}-progress")))

    def hurry(self) -> None:
        """Where the server is gone, let the flow end without waiting for it.

        To be called in the flow's own context, where its last requests look for their settings.
        """
        if self._lost:
            self._impatience.enter_context(temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}))

    async def _move(self, key: str) -> None:
        words = f"{self.progress.step}: {self.progress.words()}"
        if not self.progress.total or words == self._shown:
            return
        percent = round(100 * self.progress.share, 1)
        if self._progress is None:
            self._progress = await acreate_progress_artifact(percent, key=key, description=words)
        else:
            await aupdate_progress_artifact(self._progress, percent, description=words)
        self._shown = words

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


def artifact_key(name: str) -> str:
    """``name`` in the letters that Prefect's artifact keys may hold."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _give_up_early() -> None:
    """Have Prefect try twice, and not eleven times over seven seconds, to send an event.

    That a log cannot be sent is not said either: it is on the terminal.
    """
    logging.raiseExceptions = False
    # At a stage's end it tells of each event that is still on its way.
    logging.getLogger(EventsWorker.__name__).setLevel(logging.CRITICAL)
    if not emit_events_to_cloud():  # the cloud has a client of its own
        EventsWorker.set_client_override(PrefectEventsClient, reconnection_attempts=1)


@cache
def _task(kind: str) -> Task[[str, Callable[[], Awaitable[None]]], Any]:
    """One task a kind of step (``verify`` of ``verify 1-50``): making one takes 5 ms each time."""
    return task(name=kind, task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)(
        _run
    )


async def _run(name: str, work: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG001 the run's name
    await work()
