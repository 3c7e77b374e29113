"""What is Redis' own: what a server must promise, who may come in, what a commit compares."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import CallCache, CallResult, cache_stats, call_key, parse_place, verify_cache
from simulrag.calls.leases import Lease, is_free, take
from simulrag.calls.opening import open_rows
from simulrag.calls.places import PASSWORD_VARIABLE, CachePlace
from simulrag.calls.rows import BusyError, Rows
from simulrag.errors import CacheError, EnvironmentFault
from tests.servers.redis_server import RedisProgram, needs_redis

REQUEST = {"provider": "p", "model": "m"}
KEY = call_key("model", REQUEST)


@pytest.fixture
def rows(redis_place: CachePlace) -> Rows:
    return open_rows(redis_place)


@pytest.fixture
def client(redis_program: RedisProgram, rows: Rows) -> Any:
    import redis

    return redis.Redis(port=redis_program.port)


async def _answer() -> CallResult:
    return CallResult("the answer", {"calls": 1}, paid=True)


async def _never() -> CallResult:
    raise AssertionError("a call was repaid behind the user's back")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"},
            "maxmemory-policy is allkeys-lru.*'maxmemory-policy noeviction'",
        ),
        (
            {"maxmemory": "100mb", "maxmemory-policy": "volatile-ttl"},
            "maxmemory-policy is volatile-ttl",
        ),
        ({"appendonly": "no"}, "appendonly is no,.*Set 'appendonly yes'"),
        ({"appendfsync": "everysec"}, "appendfsync is everysec.*'appendfsync always'"),
        ({"appendfsync": "no"}, "appendfsync is no,"),
        ({"no-appendfsync-on-rewrite": "yes"}, "nothing is flushed while it rewrites"),
        ({"rename-command": "CONFIG ''"}, "does not tell its settings.*a server of your own"),
    ],
)
def test_a_server_that_may_lose_rows_is_refused(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    needs_redis()
    with RedisProgram(tmp_path / "redis", **settings) as program:
        place = parse_place(program.place())
        with pytest.raises(EnvironmentFault, match=f"redis://127.0.0.1.*{told}"):
            CallCache(place, stage="a")
        assert cache_stats(place).entries == 0  # looking is no keeping


@pytest.mark.parametrize(
    "settings",
    [
        {"maxmemory": "0", "maxmemory-policy": "allkeys-lru"},
        {"maxmemory": "100mb", "maxmemory-policy": "noeviction"},
    ],
)
async def test_a_server_that_evicts_nothing_is_fine(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    needs_redis()
    with (
        RedisProgram(tmp_path / "redis", **settings) as program,
        CallCache(parse_place(program.place()), stage="a") as cache,
    ):
        assert not (await cache.get_or_call("model", REQUEST, _answer)).hit


async def test_a_result_that_a_full_server_refused_is_kept_and_stored_later(tmp_path: Path) -> None:
    import redis

    needs_redis()
    made = 0

    async def large() -> CallResult:
        nonlocal made
        made += 1
        return CallResult("x" * 200_000)

    with RedisProgram(tmp_path / "redis", maxmemory_policy="noeviction") as program:
        place = parse_place(program.place())
        with CallCache(place, stage="a") as cache:
            client = redis.Redis(port=program.port)

            async def fills_up() -> CallResult:
                client.config_set("maxmemory", "100kb")
                return await large()

            with pytest.raises(EnvironmentFault, match=r"is full.*paid for.*kept in memory"):
                await cache.get_or_call("model", {"n": 1}, fills_up)
            assert client.hlen("simulrag:call") == 0  # refused as a whole
            client.config_set("maxmemory", "0")
            again = await cache.get_or_call("model", {"n": 1}, large)
            assert again.call.response == "x" * 200_000
    assert made == 1


async def test_the_password_comes_from_the_environment_and_is_never_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    needs_redis()
    caplog.set_level(logging.DEBUG)
    with RedisProgram(tmp_path / "redis", requirepass="right-secret") as program:
        place = parse_place(program.place())
        told = []
        for password in (None, "wrong-secret"):
            if password is not None:
                monkeypatch.setenv(PASSWORD_VARIABLE, password)
            with pytest.raises(EnvironmentFault, match=r"lets nobody in.*REDIS_PASSWORD") as caught:
                CallCache(place, stage="a")
            told.append(str(caught.value))
        monkeypatch.setenv(PASSWORD_VARIABLE, "right-secret")
        with CallCache(place, stage="a") as cache:
            answer = await cache.get_or_call("model", REQUEST, _answer)
            told += [repr(answer), repr(place), str(place), repr(cache._rows), cache._rows.place]
        told += [str(cache_stats(place)), caplog.text]
    assert "secret" not in "\n".join(told)
    stored = (tmp_path / "redis" / "appendonlydir").glob("*.aof")
    assert all(b"secret" not in path.read_bytes() for path in stored)


def test_a_server_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    needs_redis()
    place = parse_place(RedisProgram(tmp_path).place())
    began = time.monotonic()
    for use in (lambda: CallCache(place, stage="a"), lambda: cache_stats(place)):
        with pytest.raises(EnvironmentFault, match=r"redis://127.* cannot be reached.*Start it"):
            use()
    assert time.monotonic() - began < 10


def test_leases_end_by_the_servers_time(
    rows: Rows, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, _ = client.time()
    assert abs(rows.now_s() - seconds) < 60
    for clock in ("time", "monotonic"):
        now = getattr(time, clock)()
        monkeypatch.setattr(time, clock, lambda now=now: now + 86_400.0)
    assert take(rows, Lease(KEY, seconds=1.0))
    assert not is_free(rows, Lease(KEY))
    assert not take(rows, Lease(KEY))
    time.sleep(1.05)
    assert take(rows, Lease(KEY))


def test_a_lease_of_a_clock_that_was_set_back_is_dead(rows: Rows, client: Any) -> None:
    until_s = rows.now_s() + 86_400
    client.hset("simulrag:lease", KEY, f'{{"owner":"x","until_s":{until_s}}}')
    assert take(rows, Lease(KEY))


@pytest.mark.parametrize("before", [None, "old"])
@pytest.mark.parametrize("change", ["set", "delete"])
def test_a_commit_is_refused_where_a_row_that_it_read_has_changed(
    rows: Rows, redis_place: CachePlace, before: str | None, change: str
) -> None:
    other = open_rows(redis_place)
    if before is not None:
        rows.set("stage/a", before)

    def work() -> None:
        assert rows.get("stage/a") == before
        if change == "set":
            other.set("stage/a", "theirs")
        else:
            other.delete("stage/a")
        rows.set("stage/a", "mine")
        rows.set("stage/b", "mine")

    if (before, change) == (None, "delete"):
        rows.transact(work)  # nothing was there and nothing is
        assert rows.get("stage/b") == "mine"
        return
    with pytest.raises(BusyError):
        rows.transact(work)
    assert rows.get("stage/a") == ("theirs" if change == "set" else None)
    assert rows.get("stage/b") is None


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda other: other.set("hold/other", "{}"),
        lambda other: other.set("spent/x", '{"request":{},"usage":{},"time":""}'),
        lambda other: other.set("call/x", '{"paid":true,"request":{},"usage":{},"time":""}'),
    ],
)
def test_what_was_added_up_holds_when_it_commits(
    rows: Rows, redis_place: CachePlace, meanwhile: Callable[[Rows], None]
) -> None:
    other = open_rows(redis_place)

    def work() -> None:
        rows.paid(0)
        rows.items("hold/")
        meanwhile(other)
        rows.set("hold/mine", "{}")

    with pytest.raises(BusyError):
        rows.transact(work)
    assert "hold/mine" not in rows.items("hold/")


def test_a_paid_row_that_is_written_again_as_it_is_counts_once(rows: Rows) -> None:
    text = '{"request":{"model":"m"},"usage":{"calls":1},"time":"","replaces":null}'
    rows.set("spent/x", text)
    (first,) = rows.paid(0)
    rows.set("spent/x", text)
    assert rows.paid(first.position) == []
    assert rows.paid(0) == [first]


def test_more_paid_rows_than_one_answer_holds(rows: Rows) -> None:
    def work() -> None:
        for n in range(1001):
            rows.set(f"spent/{n}", '{"request":{},"usage":{},"time":""}')

    rows.transact(work)
    assert [row.row for row in rows.paid(0)] == [f"spent/{n}" for n in range(1001)]
    assert len(rows.names("spent/")) == 1001


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"NaN", b'{"key":"x"}', b"\x80\x04K\x01."])
async def test_every_tampered_row_is_an_error(
    redis_place: CachePlace, client: Any, raw: bytes
) -> None:
    with CallCache(redis_place, stage="a") as cache:
        await cache.get_or_call("model", REQUEST, _answer)
    client.hset("simulrag:call", KEY, raw)
    with (
        CallCache(redis_place, stage="a") as cache,
        pytest.raises(CacheError, match=rf"call/{KEY} in redis://.*simulrag cache verify"),
    ):
        await cache.get_or_call("model", REQUEST, _never)
    assert [problem.key for problem in verify_cache(redis_place).problems] == [f"call/{KEY}"]
    with CallCache(redis_place, stage="a", mode="refresh") as cache:
        await cache.get_or_call("model", REQUEST, _answer)
    assert verify_cache(redis_place).problems == ()


def test_a_database_of_another_program_is_named(redis_place: CachePlace, client: Any) -> None:
    client.set("simulrag:call", "text")
    with pytest.raises(CacheError, match="no call cache: name another database"):
        open_rows(redis_place).get("call/x")


@pytest.mark.parametrize("value", [b"bytes", 1, None, ["list"]])
def test_only_text_is_written_under_text(rows: Any, value: object) -> None:
    with pytest.raises(TypeError, match="text"):
        rows.set("stage/a", value)
    with pytest.raises(TypeError, match="keys are text"):
        rows.get(value)
    assert rows.get("stage/a") is None
