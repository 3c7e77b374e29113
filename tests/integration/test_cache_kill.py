"""The call cache among real processes, some of which die by kill -9.

Run as a script this file is the worker: it asks for calls 0 to n-1, one after another. A call that
is really made appends its number to a log; an answer is acknowledged by a line on stdout.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulrag.calls import CachePlace, CallCache, CallResult, call_key, parse_place, verify_cache
from simulrag.calls.inspection import read_calls
from tests.servers.places import place, redis_place, redis_program

__all__ = ["place", "redis_place", "redis_program"]

ROOT = Path(__file__).resolve().parents[2]
KILLS = 5
CALLS = 150


def ask(place: CachePlace, log: Path, count: int, call_s: float, lease_s: float) -> None:
    """The worker."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def main() -> None:
        with CallCache(place, stage=f"worker-{os.getpid()}", lease_s=lease_s) as cache:
            for n in range(count):

                async def call(n: int = n) -> CallResult:
                    os.write(out, f"{n}\n".encode())
                    await asyncio.sleep(call_s)
                    return CallResult({"n": n, "text": "x" * 2000})

                await cache.get_or_call("model", {"n": n}, call)
                print(n, flush=True)

    sys.stdin.readline()  # all workers begin at once
    asyncio.run(main())


@contextmanager
def worker(
    place: CachePlace, log: Path, count: int, call_s: float, lease_s: float
) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(part) for part in (place, log, count, call_s, lease_s)]
    command = [sys.executable, __file__, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def acknowledged(process: subprocess.Popen[str]) -> Iterator[int]:
    assert process.stdout is not None
    return (int(line) for line in process.stdout if line.endswith("\n"))


def made(log: Path) -> Counter[int]:
    return Counter(int(line) for line in log.read_text().split())


def stored(place: CachePlace) -> set[int]:
    return {int(str(call.request["n"])) for call in read_calls(place)}


def test_no_acknowledged_call_is_lost_or_repeated(place: CachePlace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    draw = random.Random(20)
    known: set[int] = set()
    committed: set[int] = set()
    before: Counter[int] = Counter()
    for kill in range(KILLS):
        # Each run finds the earlier runs' calls and makes a random number of new ones; the rest
        # is for the last run.
        stop_at = len(known) + draw.randint(1, (CALLS - 1 - len(known)) // (KILLS - kill))
        with worker(place, log, CALLS, 0.001, lease_s=0.2) as process:
            go(process)
            heard = acknowledged(process)
            for n in heard:
                known.add(n)
                if n + 1 >= stop_at:
                    break
            time.sleep(draw.uniform(0, 0.004))  # in a call, in a commit, between two
            process.send_signal(signal.SIGKILL)
            known.update(heard)  # what it had said before it died
            assert process.wait() == -signal.SIGKILL
        assert known <= stored(place)
        assert len(stored(place)) < CALLS, "no calls were left to make"
        assert verify_cache(place).problems == ()
        assert all(made(log)[n] == before[n] for n in committed), "a stored call was repeated"
        committed, before = stored(place), made(log)

    with worker(place, log, CALLS, 0.001, lease_s=0.2) as process:
        go(process)
        assert list(acknowledged(process)) == list(range(CALLS))
        assert process.wait() == 0
    after = made(log)
    assert stored(place) == set(range(CALLS))
    assert all(after[n] == before[n] for n in committed)
    assert all(after[n] >= 1 for n in range(CALLS))
    assert after.total() <= CALLS + KILLS  # at most the one call in flight at each kill


def test_two_processes_make_each_call_once(place: CachePlace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        worker(place, log, 20, 0.03, lease_s=15) as one,
        worker(place, log, 20, 0.03, lease_s=15) as two,
    ):
        go(one)
        go(two)
        assert list(acknowledged(one)) == list(acknowledged(two)) == list(range(20))
        assert (one.wait(), two.wait()) == (0, 0)
    assert made(log) == Counter(range(20))


def _until_a_call_is_made(log: Path) -> None:
    last = time.monotonic() + 30
    while not (log.exists() and log.stat().st_size):
        assert time.monotonic() < last
        time.sleep(0.02)


async def test_a_living_owner_is_waited_for_and_a_killed_one_replaced(
    place: CachePlace, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    calls, lease_s = 0, 1.5

    async def call() -> CallResult:
        nonlocal calls
        calls += 1
        return CallResult("mine")

    with worker(place, log, 1, 600.0, lease_s) as owner:
        go(owner)
        await asyncio.to_thread(_until_a_call_is_made, log)
        with CallCache(place, stage="heir", lease_s=lease_s) as cache:
            request = asyncio.create_task(cache.get_or_call("model", {"n": 0}, call))
            await asyncio.sleep(2 * lease_s)  # it is renewed meanwhile
            assert calls == 0
            owner.send_signal(signal.SIGKILL)
            answer = await asyncio.wait_for(request, 5)
    assert calls == 1
    assert not answer.hit
    assert answer.call.key == call_key("model", {"n": 0})


if __name__ == "__main__":
    place_, log_, count_, call_s_, lease_s_ = sys.argv[1:]
    ask(parse_place(place_), Path(log_), int(count_), float(call_s_), float(lease_s_))
