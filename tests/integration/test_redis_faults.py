"""Redis dies by kill -9 while workers use it, and is started again on the same file.

The workers are those of ``test_cache_kill``: a line in the log for each call that is really made,
a line on stdout for each answer that was acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.calls import CallCache, CallResult, cache_stats, parse_place, rows, verify_cache
from simulrag.errors import EnvironmentFault
from tests.integration.test_cache_kill import acknowledged, go, made, stored, worker
from tests.servers.redis_server import RedisProgram, needs_redis

CALLS = 150
KILLS = 4


@pytest.fixture
def program(tmp_path: Path) -> Iterator[RedisProgram]:
    needs_redis()
    with RedisProgram(tmp_path / "redis") as running:
        yield running


def test_no_acknowledged_row_is_lost_when_redis_is_killed(
    program: RedisProgram, tmp_path: Path
) -> None:
    """Two workers wait for it and go on by themselves; nothing they were told has gone."""
    place, log = parse_place(program.place()), tmp_path / "log"
    told: dict[int, list[int]] = {0: [], 1: []}

    with (
        worker(place, log, CALLS, 0.005, lease_s=60) as one,
        worker(place, log, CALLS, 0.005, lease_s=60) as two,
    ):
        readers = [
            threading.Thread(target=lambda i=i, w=w: told[i].extend(acknowledged(w)))
            for i, w in enumerate((one, two))
        ]
        for process, reader in zip((one, two), readers, strict=True):
            go(process)
            reader.start()
        _until(lambda: told[0] and told[1])
        for kill in range(1, KILLS + 1):
            _until(lambda kill=kill: log.exists() and made(log).total() >= 25 * kill)
            program.kill()
            known = {*told[0], *told[1]}
            time.sleep(0.2)
            program.start()
            assert known <= stored(place), "an acknowledged row was lost"
        for reader in readers:
            reader.join(60)
        assert (one.wait(10), two.wait(10)) == (0, 0)
    assert told[0] == told[1] == list(range(CALLS))
    assert stored(place) == set(range(CALLS))
    assert verify_cache(place).problems == ()
    # A call would be repeated only where Redis was away for longer than the lease of its owner.
    assert made(log).total() == CALLS


def test_a_run_that_lost_redis_says_so_and_the_rerun_goes_on(
    program: RedisProgram,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(rows, "PATIENCE_S", 0.5)
    place = parse_place(program.place())
    calls = 0

    async def call() -> CallResult:
        nonlocal calls
        calls += 1
        return CallResult("paid for")

    async def run(first: int, last: int) -> None:
        with CallCache(place, stage="a") as cache:
            for n in range(first, last):
                await cache.get_or_call("model", {"n": n}, call)

    async def loses_it() -> None:
        async def dies() -> CallResult:
            program.kill()
            return await call()

        cache = CallCache(place, stage="a")
        for n in range(10):
            await cache.get_or_call("model", {"n": n}, call)
        with pytest.raises(EnvironmentFault, match=r"redis://.*could not be used.*kept in memory"):
            await cache.get_or_call("model", {"n": 10}, dies)
        with pytest.raises(EnvironmentFault, match=r"Paid-for results are lost: [0-9a-f]{64}"):
            cache.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(loses_it())
    assert "does not answer" in caplog.text
    with pytest.raises(EnvironmentFault, match="cannot be reached"):
        asyncio.run(run(0, 12))
    program.start()
    assert cache_stats(place).entries == 10
    before = calls
    asyncio.run(run(0, 10))
    assert calls == before


async def test_a_result_is_kept_until_redis_is_back(program: RedisProgram) -> None:
    """Within a minute nobody notices: the loop runs, the row is stored by the waiting call."""
    place = parse_place(program.place())

    async def dies() -> CallResult:
        program.kill()
        return CallResult("paid for")

    with CallCache(place, stage="a") as cache:
        request = asyncio.create_task(cache.get_or_call("model", {"n": 1}, dies))
        ticks = 0
        for _ in range(30):
            await asyncio.sleep(0.01)
            ticks += 1
        assert not request.done()
        assert ticks == 30
        await asyncio.to_thread(program.start)
        answer = await asyncio.wait_for(request, 20)
        assert answer.call.response == "paid for"
    assert cache_stats(place).entries == 1


async def test_a_server_that_came_back_with_other_settings_is_refused(
    program: RedisProgram,
) -> None:
    with CallCache(parse_place(program.place()), stage="a") as cache:

        async def weakens() -> CallResult:
            program.kill()
            program.settings["appendfsync"] = "everysec"
            program.start()
            return CallResult("paid for")

        with pytest.raises(EnvironmentFault, match="may lose what was paid for"):
            await cache.get_or_call("model", {"n": 1}, weakens)
        program.kill()
        program.settings["appendfsync"] = "always"
        program.start()


def _until(true: object) -> None:
    assert callable(true)
    last = time.monotonic() + 60
    while not true():
        assert time.monotonic() < last
        time.sleep(0.005)
