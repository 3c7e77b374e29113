"""Many slow calls at once: how near the gateway comes to the ideal, and what a call costs.

The server has a process of its own; both share the machine's cores.
"""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.stub_runs import settings, stub_server
from simulrag.calls import CallCache
from simulrag.method.verification import VERBALIZED
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider

CALLS = 2000
IN_FLIGHT = 64
LATENCY_S = 1.0


def throughput() -> Iterator[Figure]:
    """2,000 calls of one second, 64 in flight, each stored in the call cache."""
    before = _cpu(resource.RUSAGE_CHILDREN)
    with stub_server(LATENCY_S) as url, tempfile.TemporaryDirectory() as folder:
        elapsed, cpu = asyncio.run(_calls(url, Path(folder)))
    server = _cpu(resource.RUSAGE_CHILDREN) - before
    ideal = CALLS / IN_FLIGHT * LATENCY_S
    yield "throughput_share_of_ideal", ideal / elapsed, "share", CALLS
    yield "client_cpu_per_call", cpu / CALLS * 1e3, "ms", CALLS
    yield "server_cpu_per_call", server / CALLS * 1e3, "ms", CALLS
    yield "machine_load_1min", os.getloadavg()[0], "processes", os.cpu_count() or 1


async def _calls(url: str, folder: Path) -> tuple[float, float]:
    """Seconds on the clock and of this process's CPU."""
    chosen = settings(url)
    with CallCache(folder, stage="bench") as cache:
        gateway = Gateway(
            make_provider(chosen), chosen, cache, packaged_prompts(), concurrency=IN_FLIGHT
        )

        async def ask(i: int) -> None:
            await gateway.ask(VERBALIZED, question="Q", claim=f"claim {i}")

        await ask(-1)  # imports the SDK and connects
        start, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(ask(i) for i in range(CALLS)))
        took = time.perf_counter() - start, time.process_time() - cpu
        await gateway.close()
    return took


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime
