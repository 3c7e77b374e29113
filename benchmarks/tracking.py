"""What Prefect adds to a stage and to each of its tasks, on a server that runs.

Wall time is what a user waits for; CPU time is what remains of it on a machine that others load
too, so both are told, with the load beside them. The server's own CPU time is not the stage's.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from flows.watch import server
from flows.watch.tracking import Tracker, tracked

TASKS = 40
ROUNDS = 7
TAGS = ["domain:urban", "model:offline-rules-1", "params:00000000"]
REST_S = 1.5
"""For the server to record what it was sent, so that one round does not slow the next."""

_STAGE = """
import asyncio, sys
from pathlib import Path
from benchmarks.tracking import TAGS, empty
from flows.watch.tracking import tracked
root = Path(sys.argv[1]) if len(sys.argv) > 1 else None
asyncio.run(tracked("bench", "bench", TAGS, empty, root))
"""


async def empty(tracker: Tracker) -> None:
    """A stage that shows one text."""
    await tracker.markdown("bench", "# nothing")


async def full(tracker: Tracker) -> None:
    """The same with tasks in which nothing is done."""

    async def work() -> None:
        await asyncio.sleep(0)

    for i in range(TASKS):
        await tracker.step(f"step {i}", work)
    await empty(tracker)


def prefect() -> Iterator[Figure]:
    """A stage's process with and without Prefect, and tasks in one process."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        server.configure(root)
        start = time.perf_counter()
        server.begin(root)
        server.wait(root)
        yield "prefect_server_first_start", time.perf_counter() - start, "s", 1
        try:
            yield from _figures(root)
        finally:
            server.stop(root)
    yield "load_average_of_the_last_minute", os.getloadavg()[0], "runnable", os.cpu_count() or 0


def _figures(root: Path) -> Iterator[Figure]:
    processes = [(_process(str(root)), _process()) for _ in range(ROUNDS)]
    for i, (what, unit) in enumerate((("wall", "s"), ("cpu", "CPU s"))):
        added = median(watched[i] - plain[i] for watched, plain in processes)
        yield f"prefect_added_per_stage_{what}", added, unit, ROUNDS
    _inside(root, full)  # imports and connects
    rounds = []
    for _ in range(ROUNDS):
        rounds.append((_inside(root, empty), _inside(root, full)))
        time.sleep(REST_S)
    for i, (what, unit) in enumerate((("wall", "ms"), ("cpu", "CPU ms"))):
        added = median(many[i] - none[i] for none, many in rounds) / TASKS
        yield f"prefect_added_per_task_{what}", added * 1e3, unit, ROUNDS * TASKS
    before = _server_cpu_s(root)
    _inside(root, full)
    time.sleep(2 * REST_S)
    spent = _server_cpu_s(root) - before
    yield "prefect_server_per_task_cpu", spent / TASKS * 1e3, "CPU ms", TASKS


def _process(*arguments: str) -> tuple[float, float]:
    """Wall and CPU seconds of a process that runs an empty stage, its end included."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", _STAGE, *arguments], check=True)
    wall, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system
    return wall, spent - before.children_user - before.children_system


def _inside(root: Path, body: object) -> tuple[float, float]:
    """Wall and CPU seconds of a stage in this process."""
    start, cpu = time.perf_counter(), time.process_time()
    asyncio.run(tracked("bench", "bench", TAGS, body, root))  # type: ignore[arg-type]
    return time.perf_counter() - start, time.process_time() - cpu


def _server_cpu_s(root: Path) -> float:
    """CPU seconds of the server and its supervisor (Linux)."""
    pids = [int(json.loads((root / ".prefect/server.json").read_text())["pid"])]
    spent = 0.0
    for pid in pids:
        pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent
