"""Rows per second of the call cache in a folder and in Redis, on this machine's disk.

A row holds 8 kB. One process asks for one call after another; then several ask at once, as workers
do: on Redis with ``appendfsync always`` they share the server's flushes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure
from simulrag.calls import CachePlace, CallCache, CallResult, parse_place
from tests.servers.redis_server import PROGRAM, RedisProgram

ROWS = 400
PROCESSES = 4
LOOPS = 16
"""Requests that a process has under way at once, as ``operations.concurrency``."""
TEXT = "reply " * 1300


def cache_places() -> Iterator[Figure]:
    """Stores and hits of one process; stores and hits of several. Redis only where it is there."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _figures("folder", Path(folder) / "cache")
    if PROGRAM is not None:
        with _redis() as place:
            yield from _figures("redis", place)


def _figures(name: str, place: CachePlace) -> Iterator[Figure]:
    for what in ("stores", "hits"):
        yield f"cache_{name}_{what}", ROWS / asyncio.run(_ask(place, 0, 1)), "rows per s", ROWS
    context = multiprocessing.get_context("spawn")
    all_rows = PROCESSES * ROWS
    for what in ("stores", "hits"):
        with context.Pool(PROCESSES) as pool:
            pool.map(_ready, range(PROCESSES))
            start = time.perf_counter()
            pool.starmap(_worker, [(str(place), i + 1) for i in range(PROCESSES)], chunksize=1)
            taken = time.perf_counter() - start
        yield f"cache_{name}_{what}_{PROCESSES}_processes", all_rows / taken, "rows per s", all_rows


@contextmanager
def _redis() -> Iterator[CachePlace]:
    folder = Path(tempfile.mkdtemp())
    try:
        with RedisProgram(folder) as program:
            yield parse_place(program.place())
    finally:
        shutil.rmtree(folder)


async def _ask(place: CachePlace, worker: int, loops: int) -> float:
    """The seconds that all of a worker's rows take."""

    async def call() -> CallResult:
        return CallResult(TEXT)

    with CallCache(place, stage=f"bench-{worker}") as cache:

        async def loop(first: int) -> None:
            for n in range(first, ROWS, loops):
                await cache.get_or_call("model", {"worker": worker, "n": n}, call)

        start = time.perf_counter()
        await asyncio.gather(*(loop(first) for first in range(loops)))
        return time.perf_counter() - start


def _ready(_: int) -> None:
    """A process that has imported everything."""


def _worker(address: str, worker: int) -> None:
    asyncio.run(_ask(parse_place(address), worker, LOOPS))
