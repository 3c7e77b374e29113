"""Runs any stage: its model and simulator opened, its items in chunks, its end shown and judged.

A stage's ``make`` is plain code between these: it reads its inputs, opens a bench, works ``over``
its items in one pass or several, writes its outs and returns an ``Outcome``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue

from flows.files import check_folder
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.sections import RoomSection
from flows.watch.tracking import Tracker, planned_calls, say, shown, tracked
from simulrag.errors import CallsPending, CoverageFailed, CoverageShort
from simulrag.method.asking import together
from simulrag.stage import Outcome, Role, Stage

if TYPE_CHECKING:
    from flows.running.bench import StageResources
    from simulators.base import Simulator

Item = TypeVar("Item")
Result = TypeVar("Result")
ItemWork = Callable[["StageResources", Item], Awaitable[Result]]
"""What is done with one item, given a bench: a module's function with its arguments bound."""
Chosen = tuple[str, Mapping[str, JsonValue]]
"""A simulator by its name and settings, which a Dask worker can load for itself."""


@dataclass(frozen=True)
class StageContext:
    """Where and with what one item of a stage is made; ``place`` holds the outs."""

    stage: Stage
    project: Project
    params: Params
    item: str
    place: Results
    tracker: Tracker = field(default_factory=Tracker)

    @property
    def name(self) -> str:
        """``answer-urban``."""
        return self.stage.named(self.item)

    @property
    def benchmark(self) -> Path:
        """The file of the item's questions."""
        return self.place.benchmark(self.item)

    @property
    def role(self) -> Role:
        """The model that the stage asks."""
        if self.stage.role is None:
            raise LookupError(f"stage {self.stage.name} declares no model to ask")
        return self.stage.role

    def chosen(self) -> tuple[Chosen, int]:
        """Return the item's simulator and the seed of its runs."""
        choice = self.params.chosen(self.item, self.project.root)
        return choice, self.params.simulator(self.item).seed

    @asynccontextmanager
    async def asking(
        self,
        simulator: Chosen | None = None,
        seed: int = 0,
        *,
        loaded: Simulator | None = None,
        here: bool = False,
    ) -> AsyncIterator[StageResources]:
        """Open the stage's model, and its simulator where one is named: by name, or ``loaded``.

        ``here``: chunks stay in this process, and no cluster is opened. So they do with a simulator
        that is loaded, since it goes to no worker.
        """
        from flows.running.cluster import BenchPlace, workers
        from simulators.registry import load

        used = load(*simulator) if simulator is not None else loaded
        stays = here or loaded is not None
        params = self.params.with_operations(runner="threads") if stays else self.params
        there_at = BenchPlace(self.project, params, self.name, self.role, simulator, seed)
        async with self.opened(used, seed) as bench, workers(there_at, bench) as there:
            self.tracker.progress.meter = bench.meter
            yield replace(bench, workers=there)

    @asynccontextmanager
    async def opened(
        self,
        simulator: Simulator | None,
        seed: int,
        *,
        beside: str = "",
        role: Role | None = None,
        params: Params | None = None,
    ) -> AsyncIterator[StageResources]:
        """Open the bench of the stage's model, whose calls are exported and whose cost is shown.

        ``beside``: the name of a further model of the stage, of the ``role`` in ``params``.
        """
        from flows.running.bench import open_bench

        async with open_bench(
            self.project,
            params or self.params,
            f"{self.name}-{beside}" if beside else self.name,
            role or self.role,
            simulator=simulator,
            seed=seed,
            export=None if beside else self.place.calls(self.name),
        ) as bench:
            if not beside:
                self.tracker.gateway = bench.gateway
            yield bench

    def export_nothing(self) -> None:
        """Write an empty export, of a stage that asked nothing of its model."""
        from simulrag.calls import CallCache

        with CallCache(self.params.operations.place(self.project.root), stage=self.name) as cache:
            cache.export(self.place.calls(self.name))

    async def over(
        self, what: str, items: Iterable[Item], work: ItemWork[Item, Result], bench: StageResources
    ) -> list[Result]:
        """Do ``work`` over all items in their order; a task ``WHAT 1-50`` a chunk.

        What waits for a batch is left out here, and ends the stage when all that can be done is
        done: raises CallsPending. On Dask chunks go out side by side.
        """
        there = bench.workers
        items = list(items)
        self.tracker.expect(len(items))
        parts = chunks(what, items, self.params.operations.chunk)
        made: list[Result] = []
        if there is None:
            for label, part in parts:
                made += await self._here(label, part, work, bench)
            bench.waiting.check()
            return made
        done = await together(
            self.tracker.step(label, partial(there.run, partial(work_all, work, part)))
            for label, part in parts
        )
        for results in done:
            for result in results:
                self.tracker.advance()
                made.append(result)
        return made

    async def _here(
        self, label: str, part: list[Item], work: ItemWork[Item, Result], bench: StageResources
    ) -> list[Result]:
        async def unless_waiting(item: Item) -> Result | None:
            try:  # not by bench.waiting.unless: a traceback has a frame less
                return await work(bench, item)
            except CallsPending:
                bench.waiting.note()
                return None
            finally:
                self.tracker.advance()

        made = await self.tracker.step(label, lambda: together(map(unless_waiting, part)))
        return [result for result in made if result is not None]


async def work_all(
    work: ItemWork[Item, Result], part: list[Item], bench: StageResources
) -> list[Result]:
    """Work on one chunk, on a worker."""
    return await together(work(bench, item) for item in part)


def execute(stage: Stage, project: Project, item: str = "") -> None:
    """Make one item of a stage. Raises what ``make_item`` raises."""
    params = load_params(project.params)
    if item:
        _check_known(stage, item, params)
    make_item(StageContext(stage, project, params.of(item), item, project.results))


def make_item(context: StageContext) -> None:
    """Make what the context says, with a tracker that is seen.

    The outs are written and the calls exported before it returns; raises SimulRAGError after that
    for too low a coverage.
    """
    stage, project, params, item = context.stage, context.project, context.params, context.item
    make_folders(stage, context.place, item)
    name = context.name
    stored, calls = planned_calls(f"{stage.name}@{item}" if item else stage.name)

    async def body(tracker: Tracker) -> Outcome | None:
        tracker.progress.planned = calls
        async with shown(name, tracker.progress):
            outcome = await stage.make(replace(context, tracker=tracker))
        if outcome is None:
            return None
        if tracker.gateway is not None:
            from flows.running.bench import show_calls

            await show_calls(tracker, tracker.gateway, project, name, outcome)
        say(outcome.table)
        if outcome.warning:
            tracker.warn(f"{name}: {outcome.warning}")
        return outcome

    if stage.always:  # watched by nobody: it is to take no longer than what it looks at
        asyncio.run(body(Tracker()))
        return
    tags = [f"{stage.each}:{item}"] if item else [f"domain:{domain}" for domain in params.domains]
    tags += [] if stage.role is None else [f"model:{params.of(item).model(stage.role).model}"]
    tags.append(f"params:{params.digest()}")
    say(f"{name}: {stored:,} of about {calls:,} calls are stored" if stored else name)
    root = project.root if params.operations.prefect == "auto" else None
    outcome = asyncio.run(tracked(stage.name, name, tags, body, root))
    if outcome is not None:
        check_coverage(context, outcome)


def make_folders(stage: Stage, place: Results, item: str) -> None:
    """Make the folders of its outs. Raises EnvironmentFault where one cannot be."""
    for made in (*stage.makes, *stage.measures):
        check_folder((place.data / Path(made.format(item=item)).relative_to("data")).parent)


def check_coverage(context: StageContext, outcome: Outcome) -> None:
    """Raise CoverageFailed where fewer than ``min_coverage`` came through.

    CoverageShort where that is enough for a report.
    """
    operations, least = context.params.operations, context.params.operations.min_coverage
    done, total = outcome.done, outcome.total
    if total == 0 or done / total >= least:
        return
    again = ""
    if context.stage.failed is not None:  # else it would make the same ones again
        ours = context.place == context.project.results
        command = "`simulrag retry`" if ours else "the same command"
        again = f". Nothing paid for is lost: {command} makes the failed ones again"
    kind = CoverageShort if done / total >= operations.report_from else CoverageFailed
    raise kind(
        f"{context.name}: {done} of {total} came through, below operations.min_coverage "
        f"{least:g}; {'; '.join(outcome.hints)}{again}"
    )


def _check_known(stage: Stage, item: str, params: Params) -> None:
    """Raise InputError for an item that is neither a domain nor of the section it is listed in."""
    section = getattr(params, stage.over.partition(".")[0], None)
    if not isinstance(section, RoomSection) or item not in section.own_items:
        params.simulator(item)


def chunks(what: str, items: Iterable[Item], size: int) -> Iterator[tuple[str, list[Item]]]:
    """('draft 1-50', items) and so on."""
    left = iter(items)
    start = 1
    while part := list(islice(left, size)):
        yield f"{what} {start}-{start + len(part) - 1}", part
        start += len(part)
