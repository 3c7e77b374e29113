"""Chunks on Dask workers: ``operations.runner: dask``.

A chunk goes to a worker with what it needs to open the stage's bench: the call cache, a gateway and
the simulator are the worker's own, for that chunk. Records come back, with the keys of the calls
that were used, so that the stage's export and its figures are those of one process.

Dask itself and not prefect-dask: docs/decisions/0008-dask-without-prefect.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import JsonValue

from flows.params import Params
from flows.project import Project
from flows.running.bench import StageResources, open_bench
from flows.sections import Operations
from flows.watch.tracking import say
from simulators.registry import load
from simulrag.calls import StageRun
from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.gateway import GatewayCounts
from simulrag.models.providers.registry import make_provider
from simulrag.stage import Role

if TYPE_CHECKING:
    from distributed import Client

Result = TypeVar("Result")
CONNECT_S = 10
START_S = 120
ChunkWork = Callable[[StageResources], Awaitable[Result]]
"""Work over one chunk, given a bench: a module's function with its arguments bound."""


@dataclass(frozen=True)
class BenchPlace:
    """What a worker opens a stage's bench with. The project's folder is the same there."""

    project: Project
    params: Params
    stage: str
    role: Role
    simulator: tuple[str, Mapping[str, JsonValue]] | None = None
    seed: int = 0


@dataclass(frozen=True)
class Done(Generic[Result]):
    """What comes back from a worker: the result, and what its cache and its gateway counted."""

    result: Result
    used: dict[str, str]
    questions: dict[str, set[str]]
    run: StageRun
    counts: GatewayCounts


class Workers:
    """The workers of one stage, seen from its own process."""

    def __init__(self, client: Client, place: BenchPlace, bench: StageResources) -> None:
        self._client = client
        self._place = place
        self._bench = bench

    async def run(self, work: ChunkWork[Result]) -> Result:
        """Do ``work`` on some worker; one that dies is replaced, and the chunk is worked again."""
        from distributed import KilledWorker

        future = self._client.submit(work_there, self._place, work, pure=False)
        try:
            done: Done[Result] = await future
        except KilledWorker as error:
            raise EnvironmentFault(
                f"a chunk's workers died, one after another: {error}. Every finished call is kept; "
                "look for a lack of memory, then run the same command again"
            ) from None
        finally:
            future.release()
        self._bench.cache.adopt(done.used, done.questions, done.run)
        self._bench.gateway.adopt(done.counts)
        return done.result


@asynccontextmanager
async def workers(place: BenchPlace, bench: StageResources) -> AsyncIterator[Workers | None]:
    """Open the stage's workers, or None where its chunks stay in this process.

    They stay in modes refresh and deferred, where what was called or postponed is known within one
    process only. Raises InputError for a call cache that the workers cannot share, and
    EnvironmentFault where the cluster cannot be reached or Dask is missing.
    """
    operations = place.params.operations
    if operations.runner == "threads":
        yield None
        return
    _check_shared(place)
    if operations.mode in ("refresh", "deferred"):
        say(f"  mode {operations.mode}: chunks stay in this process, not on workers")
        yield None
        return
    async with _connected(operations) as client:
        threads: dict[str, int] = await client.nthreads()
        total = max(1, sum(threads.values()))
        say(f"  {len(threads)} Dask workers with {total} threads")
        share = max(1, operations.concurrency // total)
        params = place.params.with_operations(concurrency=share)
        yield Workers(client, replace(place, params=params), bench)


def work_there(place: BenchPlace, work: ChunkWork[Result]) -> Done[Result]:
    """Work on a worker: a bench for one chunk, in an event loop of its own."""
    return asyncio.run(_work(place, work))


async def _work(place: BenchPlace, work: ChunkWork[Result]) -> Done[Result]:
    simulator = None if place.simulator is None else load(*place.simulator)
    async with open_bench(
        place.project, place.params, place.stage, place.role, simulator=simulator, seed=place.seed
    ) as bench:
        result = await work(bench)
    cache = bench.cache
    questions = {key: set(asked) for key, asked in cache.questions.items()}
    counts = StageRun(**cache.counts())
    return Done(result, dict(cache.used), questions, counts, bench.gateway.counts)


def _check_shared(place: BenchPlace) -> None:
    """Raise InputError where workers need the cache in Redis and it lies in a folder."""
    operations = place.params.operations
    if not isinstance(operations.place(place.project.root), Path):
        return
    if operations.cluster.address is not None:
        why = "workers on other machines share it through Redis only (operations.cluster.address)"
    elif make_provider(place.params.model(place.role)).paid:
        why = f"llm.{place.role} costs money, and Redis holds the sum that a budget limits"
    else:
        return
    raise InputError(
        f"operations.runner: dask with the call cache in a folder: {why}; set operations.cache to "
        "redis://HOST:6379/0, or operations.runner to threads"
    )


@asynccontextmanager
async def _connected(operations: Operations) -> AsyncIterator[Client]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise EnvironmentFault(
            "operations.runner: dask needs the extra: pip install 'simulrag[cluster]'"
        ) from None
    address: Any = operations.cluster.address
    async with AsyncExitStack() as stack:
        if address is None:
            cluster = LocalCluster(
                n_workers=operations.cluster.workers,
                threads_per_worker=1,
                dashboard_address=None,
                host="127.0.0.1",
                security=True,  # a certificate for this run: other users of the machine stay out
                asynchronous=True,
                silence_logs=50,
            )
            address = await stack.enter_async_context(cluster)
        try:
            client = await Client(address, asynchronous=True, timeout=CONNECT_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise EnvironmentFault(
                f"no Dask scheduler answers at operations.cluster.address {address}: {error}"
            ) from None
        stack.push_async_callback(client.close)
        if operations.cluster.address is None:
            await client.wait_for_workers(operations.cluster.workers, timeout=START_S)
        yield client
