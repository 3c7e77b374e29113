"""Chunks on Dask workers: ``operations.runner: dask``.

A chunk goes to a worker with what it needs to open the stage's workbench: the call cache, a
gateway and the simulator are the worker's own, for that chunk. Records come back, with the keys of
the calls that were used, so that the stage's export and its figures are those of one process.

Dask itself and not prefect-dask: there a task on a worker talks to Prefect's server, which is on
the loopback of the first machine, may go away, and may be off; work must depend on none of that.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import JsonValue

from flows.params import Operations, StageParams
from flows.project import Project
from flows.stages.bench import Bench, cache_place, open_bench
from flows.watch.progress import console
from simulators.registry import load
from simulrag.calls import StageRun
from simulrag.errors import EnvironmentFault, InputError
from simulrag.records import Usage

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

Result = TypeVar("Result")
CONNECT_S = 10
START_S = 120
ChunkWork = Callable[[Bench], Awaitable[Result]]
"""Work over one chunk, given a workbench: a module's function with its arguments bound."""


@dataclass(frozen=True)
class Place:
    """What a worker opens a stage's workbench with. The project's folder is the same there."""

    project: Project
    params: StageParams
    stage: str
    role: Literal["benchmark", "answer", "judge"]
    simulator: tuple[str, Mapping[str, JsonValue]] | None = None
    seed: int = 0


@dataclass(frozen=True)
class Done(Generic[Result]):
    """What comes back from a worker."""

    result: Result
    used: frozenset[str]
    counts: StageRun
    usage: dict[str, Usage]
    paid: dict[str, Usage]
    failures: dict[str, int]
    seconds: dict[str, float]


class Workers:
    """The workers of one stage, seen from its own process; ``threads`` of them, all together."""

    def __init__(
        self, client: Client, place: Place, bench: Bench, token: str, threads: int
    ) -> None:
        self.threads = threads
        self._client = client
        self._place = place
        self._bench = bench
        self._token = token

    async def run(self, work: ChunkWork[Result]) -> Result:
        """``work`` on some worker; one that dies is replaced, and the chunk is worked again."""
        from distributed import KilledWorker

        future = self._client.submit(work_there, self._place, self._token, work, pure=False)
        try:
            done: Done[Result] = await future
        except KilledWorker as error:
            raise EnvironmentFault(
                f"a chunk's workers died, one after another: {error}. Every finished call is kept; "
                "look for a lack of memory, then run the same command again"
            ) from None
        finally:
            future.release()
        self._bench.cache.adopt(done.used, done.counts)
        self._bench.gateway.adopt(done.usage, done.paid, done.failures, done.seconds)
        return done.result


@asynccontextmanager
async def workers(place: Place, bench: Bench) -> AsyncIterator[Workers | None]:
    """The stage's workers, or None where its chunks stay in this process.

    They stay in modes refresh and deferred, where what was called or postponed is known within one
    process alone. Raises EnvironmentFault where the cluster cannot be reached or Dask is missing.
    """
    operations = place.params.operations
    if operations.runner == "threads":
        yield None
        return
    if operations.mode in ("refresh", "deferred"):
        console.print(f"  mode {operations.mode}: chunks stay in this process, not on workers")
        yield None
        return
    token = f".workers-{uuid.uuid4().hex}"
    cache = cache_place(place.project, operations)
    mark = cache / token if isinstance(cache, Path) else None
    async with _connected(operations) as client:
        threads: dict[str, int] = await client.nthreads()
        total = max(1, sum(threads.values()))
        console.print(f"  {len(threads)} Dask workers with {total} threads")
        if mark is not None:
            mark.touch()
        try:
            yield Workers(client, _shared(place, total), bench, token, total)
        finally:
            if mark is not None:
                mark.unlink(missing_ok=True)


def work_there(place: Place, token: str, work: ChunkWork[Result]) -> Done[Result]:
    """On a worker: a workbench for one chunk, in an event loop of its own.

    Raises InputError where the call cache here is not the stage's; one in Redis has the same name
    everywhere.
    """
    cache = cache_place(place.project, place.params.operations)
    if isinstance(cache, Path) and not (cache / token).is_file():
        raise InputError(
            f"a Dask worker does not see the stage's call cache in {cache}: workers need this "
            "project in the same folder, and the cache on a disk that they share with it (SQLite: "
            "the same machine)"
        )
    return asyncio.run(_work(place, work))


async def _work(place: Place, work: ChunkWork[Result]) -> Done[Result]:
    simulator = None if place.simulator is None else load(*place.simulator)
    async with open_bench(
        place.project, place.params, place.stage, place.role, simulator=simulator, seed=place.seed
    ) as bench:
        result = await work(bench)
    return Done(
        result=result,
        used=bench.cache.used,
        counts=StageRun(**bench.cache.counts()),
        usage=bench.gateway.usage,
        paid=bench.gateway.paid,
        failures=bench.gateway.failures,
        seconds=dict(bench.gateway.seconds),
    )


def _shared(place: Place, threads: int) -> Place:
    """The place with each chunk's share of the model calls in flight."""
    operations = place.params.operations
    share = max(1, operations.concurrency // threads)
    return Place(
        project=place.project,
        params=place.params.with_operations(concurrency=share),
        stage=place.stage,
        role=place.role,
        simulator=place.simulator,
        seed=place.seed,
    )


@asynccontextmanager
async def _connected(operations: Operations) -> AsyncIterator[Client]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise EnvironmentFault(
            "operations.runner: dask needs the extra: pip install 'simulrag[cluster]'"
        ) from None
    address = operations.cluster.address
    if address is not None:
        try:
            client = await Client(address, asynchronous=True, timeout=CONNECT_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise EnvironmentFault(
                f"no Dask scheduler answers at operations.cluster.address {address}: {error}"
            ) from None
        try:
            yield client
        finally:
            await client.close()
        return
    options: dict[str, Any] = {
        "n_workers": operations.cluster.workers,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "host": "127.0.0.1",
        "security": True,  # a certificate for this run alone: other users of the machine stay out
        "asynchronous": True,
        "silence_logs": 50,
    }
    async with (
        LocalCluster(**options) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        await client.wait_for_workers(operations.cluster.workers, timeout=START_S)
        _tell_of_deaths(cluster)
        yield client


def _tell_of_deaths(cluster: LocalCluster) -> None:
    """Say so where a worker ends before the stage does; Dask starts another in its place."""
    from distributed.core import Status
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Deaths(SchedulerPlugin):
        def remove_worker(self, *_: object, safe: bool = False, **__: object) -> None:
            if not safe and cluster.status is Status.running:
                console.print("  a Dask worker has died; another takes its chunk")

    scheduler: Any = cluster.scheduler
    scheduler.add_plugin(Deaths())
