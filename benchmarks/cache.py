"""What the call cache costs: rows stored and found a second, by one process and by several.

A row holds 8 kB. ``BENCH_REDIS=redis://127.0.0.1:6379/9`` measures that server too; several
processes share its flushes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from benchmarks.figures import Figure
from simulrag.calls import CachePlace, CallCache, CallResult, parse_place

ROWS = 400
PROCESSES = 4
LOOPS = 16
"""Requests that a process has under way at once, as ``operations.concurrency``."""
TEXT = "reply " * 1300


def cache() -> Iterator[Figure]:
    """Stores, then hits, one after another; the same with several processes."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _figures("folder", Path(folder) / "cache")
    if address := os.environ.get("BENCH_REDIS"):
        yield from _figures("redis", parse_place(address))


def _figures(name: str, place: CachePlace) -> Iterator[Figure]:
    run = uuid4().hex  # a server keeps the rows of the time before
    for what in ("stores", "hits"):
        yield f"cache_{name}_{what}", ROWS / asyncio.run(_ask(place, run, 1)), "rows per s", ROWS
    every = PROCESSES * ROWS
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        pool.map(_ready, range(PROCESSES))
        for what in ("stores", "hits"):
            start = time.perf_counter()
            work = [(str(place), f"{run}-{i}") for i in range(PROCESSES)]
            pool.starmap(_worker, work, chunksize=1)
            taken = time.perf_counter() - start
            yield f"cache_{name}_{what}_{PROCESSES}_processes", every / taken, "rows per s", every


async def _ask(place: CachePlace, worker: str, loops: int) -> float:
    """The seconds that all of a worker's rows take."""

    async def call() -> CallResult:
        return CallResult(TEXT)

    with CallCache(place, stage=f"bench-{worker}") as store:

        async def loop(first: int) -> None:
            for n in range(first, ROWS, loops):
                await store.get_or_call("model", {"worker": worker, "n": n}, call)

        start = time.perf_counter()
        await asyncio.gather(*(loop(first) for first in range(loops)))
        return time.perf_counter() - start


def _ready(_: int) -> None:
    """A process that has imported everything."""


def _worker(address: str, worker: str) -> None:
    asyncio.run(_ask(parse_place(address), worker, LOOPS))
