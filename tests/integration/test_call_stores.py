"""The call cache among real processes, in a folder and on a real Redis, some killed by kill -9.

Run as a script this file is a worker: it asks for calls 0 to n-1, one after another. A call that is
really made appends its number to a log; an answer is acknowledged by a line on stdout.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import (
    CachePlace,
    CallCache,
    CallResult,
    cache_stats,
    copy_cache,
    export_cache,
    import_cache,
    parse_place,
    read_calls,
    verify_cache,
)
from simulrag.errors import BudgetSpent, CacheError, CallsPending, EnvironmentFault
from simulrag.models.budget import Account, Budget
from simulrag.models.pending import PendingCalls, PendingStore, Target
from simulrag.models.prices import Price, PriceTable
from simulrag.models.settings import BudgetLimits
from simulrag.records import Usage
from tests.servers.redis_server import RedisProgram, needs_redis, place, redis_place, redis_program

__all__ = ["place", "redis_place", "redis_program"]

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KILLS = 4
CALLS = 120


def paid(n: int = 0) -> Callable[[], Any]:
    async def call() -> CallResult:
        return CallResult({"n": n, "text": "größer"}, {"calls": 1}, "v1")

    return call


def ask(place: CachePlace, log: Path, count: int) -> None:
    """The worker."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def main() -> None:
        with CallCache(place, stage=f"worker-{os.getpid()}") as cache:
            for n in range(count):

                async def call(n: int = n) -> CallResult:
                    os.write(out, f"{n}\n".encode())
                    await asyncio.sleep(0.002)
                    return CallResult({"n": n, "text": "x" * 2000})

                await cache.get_or_call("model", {"n": n}, call)
                print(n, flush=True)

    asyncio.run(main())


@contextmanager
def worker(place: CachePlace, log: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, __file__, str(place), str(log), str(CALLS)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


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
        stop_at = len(known) + draw.randint(1, (CALLS - 1 - len(known)) // (KILLS - kill))
        with worker(place, log) as process:
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
        assert verify_cache(place).problems == ()
        assert all(made(log)[n] == before[n] for n in committed), "a stored call was repeated"
        committed, before = stored(place), made(log)
    with worker(place, log) as process:
        assert list(acknowledged(process)) == list(range(CALLS))
        assert process.wait() == 0
    assert stored(place) == set(range(CALLS))
    assert made(log).total() <= CALLS + KILLS  # at most the one call in flight at each kill


def test_redis_is_killed_and_no_acknowledged_row_is_lost(tmp_path: Path) -> None:
    needs_redis()
    log = tmp_path / "log"
    with RedisProgram(tmp_path / "redis") as program:
        place = parse_place(program.place())
        with worker(place, log) as process:
            told = acknowledged(process)
            known: list[int] = []
            for _ in range(3):
                known += [next(told) for _ in range(20)]
                program.kill()
                time.sleep(0.2)
                program.start()
                assert set(known) <= stored(place), "an acknowledged row was lost"
            known += told  # the worker waited for it and went on by itself
            assert process.wait() == 0
        assert known == list(range(CALLS))
        assert stored(place) == set(range(CALLS))
        program.kill()
        with pytest.raises(EnvironmentFault, match=r"redis://.*cannot be used.*start it"):
            CallCache(place, stage="a")


async def test_redis_keeps_the_contract_of_a_folder(
    redis_place: CachePlace, tmp_path: Path
) -> None:
    place, file = redis_place, tmp_path / "calls.parquet"
    with CallCache(place, stage="a") as cache:
        answers = await asyncio.gather(
            *(cache.get_or_call("model", {"n": 1}, paid()) for _ in range(20))
        )
        assert [answer.hit for answer in answers].count(False) == 1
        assert cache.export(file) == 1
    with CallCache(place, stage="a", mode="refresh") as cache:
        await cache.get_or_call("model", {"n": 1}, paid(2))
    assert [call.response for call in read_calls(place)] == [{"n": 2, "text": "größer"}]
    with CallCache(tmp_path / "b", stage="b") as cache:
        await cache.get_or_call("model", {"n": 3}, paid(3))
        cache.ledger().note(("p", "e", "m"), Usage(calls=1))
    for _ in range(2):
        assert copy_cache(tmp_path / "b", place).refused == ()
        assert import_cache(place, file).present == 1
    assert copy_cache(place, tmp_path / "c").imported == 5  # calls, stages, what was paid
    assert export_cache(place, file) == export_cache(tmp_path / "c", tmp_path / "two.parquet") == 2
    assert file.read_bytes() == (tmp_path / "two.parquet").read_bytes()
    with CallCache(place, stage="c") as cache:
        assert len(cache.ledger().news()) == 1
    assert cache_stats(place).stages.keys() == {"a", "b", "c"}
    assert verify_cache(place).problems == ()


async def test_a_tampered_row_in_redis_is_refused(redis_place: CachePlace) -> None:
    from simulrag.calls.redis_store import RedisStore

    with CallCache(redis_place, stage="a") as cache:
        answer = await cache.get_or_call("model", {"n": 1}, paid())
    assert not isinstance(redis_place, Path)
    redis = RedisStore(redis_place).redis
    for text in (b"\xff\xfe", b"{", redis.hget("simulrag:call", answer.call.key)[:-1]):
        redis.hset("simulrag:call", answer.call.key, text)
        with CallCache(redis_place, stage="a") as cache, pytest.raises(CacheError, match="verify"):
            await cache.get_or_call("model", {"n": 1}, paid())
        assert len(verify_cache(redis_place).problems) == 1
    redis.set("simulrag:batch", "not a hash")
    with pytest.raises(CacheError, match="not a call cache"):
        cache_stats(redis_place)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"appendonly": "no"}, "appendonly is no"),
        ({"appendfsync": "everysec"}, "appendfsync is everysec"),
        ({"maxmemory": "100mb", "maxmemory_policy": "allkeys-lru"}, "noeviction"),
    ],
)
def test_a_server_that_may_lose_rows_is_refused(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    needs_redis()
    with RedisProgram(tmp_path / "redis", **settings) as program:
        place = parse_place(program.place())
        with pytest.raises(EnvironmentFault, match=f"may lose what was paid for: .*{said}"):
            CallCache(place, stage="a")
        assert cache_stats(place).entries == 0  # looking is no risk


async def test_a_password_and_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_redis()
    try:
        program = RedisProgram(tmp_path / "redis", tls=True, requirepass="a-password-for-this")
        program.start()
    except RuntimeError as error:
        pytest.skip(f"this redis-server was built without TLS: {str(error)[-200:]}")
    try:
        place = parse_place(program.place())
        with pytest.raises(EnvironmentFault, match="REDIS_CA"):
            CallCache(place, stage="a")
        monkeypatch.setenv("REDIS_CA", str(tmp_path / "redis/tls.pem"))
        with pytest.raises(EnvironmentFault, match="REDIS_PASSWORD"):
            CallCache(place, stage="a")
        monkeypatch.setenv("REDIS_PASSWORD", "a-password-for-this")
        with CallCache(place, stage="a") as cache:
            assert not (await cache.get_or_call("model", {"n": 1}, paid())).hit
        plain = parse_place(program.place().replace("rediss", "redis"))
        with pytest.raises(EnvironmentFault, match="cannot be used"):
            CallCache(plain, stage="a")
    finally:
        program.stop()


def test_waiting_calls_lie_in_redis_beside_the_cache(redis_place: CachePlace) -> None:
    assert not PendingStore.exists(redis_place)
    waiting = PendingCalls(redis_place, stage="answer", collect=True)
    with pytest.raises(CallsPending):
        waiting.reply("verbalized", Target(provider="openai", endpoint="default", model="m"), {})
    assert [call.task for call in PendingStore(redis_place).calls()] == ["verbalized"]
    assert cache_stats(redis_place).entries == 0


PRICES = PriceTable(
    models=(Price(provider="lab", model="m", input=10, output=100, as_of="2026-11"),)
)
LIMIT_USD = 0.4
CALL_USD = 0.02


def _spend(address: str) -> None:
    async def work() -> None:
        with CallCache(parse_place(address), stage="spend") as cache:
            account = Account(cache.ledger(), PRICES)
            budget = Budget(BudgetLimits(usd=LIMIT_USD), account, ("lab", "default", "m"))

            async def call() -> None:
                async with budget.call(1500, 150) as bill:  # at most 0.03 USD
                    await asyncio.sleep(0.01)
                    bill.add(Usage(calls=1, input_tokens=1000, output_tokens=100))

            done = await asyncio.gather(*(call() for _ in range(15)), return_exceptions=True)
            assert all(item is None or isinstance(item, BudgetSpent) for item in done)

    asyncio.run(work())


def test_processes_share_one_budget_through_redis(redis_place: CachePlace) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_spend, args=(str(redis_place),)) for _ in range(3)]
    for process in workers:
        process.start()
    for process in workers:
        process.join(60)
    assert [process.exitcode for process in workers] == [0, 0, 0]
    with CallCache(redis_place, stage="look") as cache:
        account = Account(cache.ledger(), PRICES)
        account.update()
    assert LIMIT_USD - 0.03 < account.spent.usd <= LIMIT_USD + 1e-9
    assert account.spent.usd == pytest.approx(account.calls * CALL_USD)


if __name__ == "__main__":
    place_, log_, count_ = sys.argv[1:]
    ask(parse_place(place_), Path(log_), int(count_))
