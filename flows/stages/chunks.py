"""Work over a stage's items, a chunk at a time: in this process, or on Dask workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from flows.stages.bench import Bench
from flows.stages.cluster import Workers
from flows.watch.progress import each
from flows.watch.tracking import Tracker
from simulrag.method.concurrency import together

Item = TypeVar("Item")
Result = TypeVar("Result")

Work = Callable[[Bench, Item], Awaitable[Result]]
"""What is done with one item, given a bench: a module's function with its arguments bound."""


async def over_chunks(
    name: str,
    items: Iterable[Item],
    work: Work[Item, Result],
    *,
    bench: Bench,
    tracker: Tracker,
    chunk: int,
    workers: Workers | None = None,
) -> AsyncIterator[Result]:
    """``work`` over all items, each result in the items' order; a task ``NAME 1-50`` a chunk.

    Here one chunk is worked after another, and what waits for a batch is left out and counted by
    ``bench.waiting``, whose ``check`` ends the stage. With ``workers`` chunks go out side by side.
    """
    if workers is not None:
        done = await together(
            tracker.step(label, partial(workers.run, partial(_work_all, work, part)))
            for label, part in chunks(name, items, chunk)
        )
        for results in done:
            for result in results:
                tracker.advance()
                yield result
        return
    for label, part in chunks(name, items, chunk):
        run = partial(_here, label, part, work, bench, tracker)
        for outcome in await tracker.step(label, run):
            if outcome is not None:
                yield outcome


async def _here(
    label: str, part: Sequence[Item], work: Work[Item, Result], bench: Bench, tracker: Tracker
) -> list[Result | None]:
    return await each(
        label, part, lambda item: bench.waiting.unless(work(bench, item)), tracker.advance
    )


async def _work_all(work: Work[Item, Result], part: Sequence[Item], bench: Bench) -> list[Result]:
    """On a worker: one chunk."""
    return await together(work(bench, item) for item in part)


def chunks(name: str, items: Iterable[Item], size: int) -> Iterator[tuple[str, list[Item]]]:
    """('draft 1-50', items) and so on."""
    left = iter(items)
    start = 1
    while part := list(islice(left, size)):
        yield f"{name} {start}-{start + len(part) - 1}", part
        start += len(part)
