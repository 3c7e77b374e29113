"""What a stage sees of the cache: hits, modes, failures, many at once, and what is said then."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import CallCache, CallResult, StageRun, asked_for, cache_stats
from simulrag.errors import CacheError, CallsPending, EnvironmentFault, InputError, NotStored
from tests.unit.calls.conftest import Paid

REQUEST = {"provider": "p", "endpoint": "e", "model": "m", "messages": [], "sample_index": 0}


def result(response: Any, version: str = "") -> Any:
    async def call() -> CallResult:
        return CallResult(response, model_version=version)

    return call


async def test_the_second_request_is_a_hit_in_this_run_and_the_next(place: Path) -> None:
    call = Paid()
    with CallCache(place, stage="answer") as cache:
        first = await cache.get_or_call("model", REQUEST, call)
        second = await cache.get_or_call("model", REQUEST, call)
        assert (first.hit, second.hit) == (False, True)
        assert first.call == second.call
        assert (cache.counts()["hits"], cache.counts()["misses"]) == (1, 1)
    with CallCache(place, stage="answer") as cache:
        third = await cache.get_or_call("model", REQUEST, call)
        assert third.call == first.call
        assert cache.counts()["model_hits"] == 1
        assert cache.counts()["misses"] == 0
    assert call.made == 1
    assert first.call.response == {"text": "answer 1"}
    assert first.call.usage == {"input_tokens": 3}
    assert first.call.model_version == "rules-1"
    assert first.call.time.endswith("+00:00")


async def test_a_hit_and_a_miss_give_the_same_response(place: Path) -> None:
    response = {"emission_mg": 1.0, "runs": (1, 2), "note": "half a pair \ud83d", "none": None}
    with CallCache(place, stage="a") as cache:
        miss = await cache.get_or_call("simulator", {"tool": "t"}, result(response))
        hit = await cache.get_or_call("simulator", {"tool": "t"}, result("never asked"))
    assert hit.hit
    assert hit.call.response == miss.call.response == {**response, "runs": [1, 2]}
    assert isinstance(hit.call.response, dict)
    assert isinstance(hit.call.response["emission_mg"], float)


async def test_a_failure_is_never_stored(place: Path) -> None:
    broken, call = Paid(error=ConnectionError("down")), Paid()
    with CallCache(place, stage="answer") as cache:
        with pytest.raises(ConnectionError, match="down"):
            await cache.get_or_call("model", REQUEST, broken)
        answer = await cache.get_or_call("model", REQUEST, call)
        assert not answer.hit
        assert cache.counts()["misses"] == 2
    assert (broken.made, call.made) == (1, 1)
    assert cache_stats(place).entries == 1


async def test_a_response_that_json_cannot_hold_is_an_error(place: Path) -> None:
    with CallCache(place, stage="a") as cache:
        with pytest.raises(CacheError, match=r"tool run.*nothing was stored.*nan at"):
            await cache.get_or_call("simulator", {"tool": "run"}, result({"co2": math.nan}))
        with pytest.raises(InputError, match=r"cannot be keyed: nan at \$\.speed"):
            await cache.get_or_call("simulator", {"speed": math.nan}, result(1))
    assert cache_stats(place).entries == 0


async def test_replay_names_the_call_that_is_not_stored(place: Path) -> None:
    call = Paid()
    with CallCache(place, stage="a") as cache:
        stored = await cache.get_or_call("model", REQUEST, call)
    with CallCache(place, stage="a", mode="replay") as cache:
        assert await cache.get_or_call("model", REQUEST, call) == type(stored)(stored.call, True)
        missing = {**REQUEST, "sample_index": 7}
        with pytest.raises(NotStored, match=r"model m, sample_index 7.*key [0-9a-f]{64}"):
            await cache.get_or_call("model", missing, call)
        counts = cache.counts()
        assert (counts["hits"], counts["misses"], counts["missing"]) == (1, 0, 1)
        # A simulator run costs time and no money: it is made.
        assert not (await cache.get_or_call("simulator", {"tool": "t"}, call)).hit
    assert call.made == 2


async def test_without_a_call_nothing_is_made(place: Path) -> None:
    with CallCache(place, stage="a") as cache:
        with pytest.raises(NotStored, match="nothing may be made"):
            await cache.get_or_call("simulator", REQUEST, None)
        await cache.get_or_call("simulator", REQUEST, Paid())
        assert (await cache.get_or_call("simulator", REQUEST, None)).hit
    counts = cache_stats(place).stages["a"]
    assert (counts.missing, counts.simulator_missing, counts.model_missing) == (1, 1, 0)


async def test_a_look_without_a_name_counts_as_no_run(place: Path) -> None:
    with CallCache(place, stage=None) as cache:
        with pytest.raises(NotStored):
            await cache.get_or_call("model", REQUEST, None)
        assert cache.counts()["missing"] == 1
    assert cache_stats(place).stages == {}


async def test_a_postponed_call_is_no_miss(place: Path) -> None:
    async def waits() -> CallResult:
        raise CallsPending("later")

    with CallCache(place, stage="a", mode="deferred") as cache:
        with pytest.raises(CallsPending):
            await cache.get_or_call("model", REQUEST, waits)
        assert (cache.counts()["misses"], cache.counts()["missing"]) == (0, 0)


async def test_what_another_process_did_is_adopted(place: Path) -> None:
    with CallCache(place, stage="worker") as worker, asked_for("urban-1"):
        await worker.get_or_call("model", REQUEST, Paid(), task="verify")
    with CallCache(place, stage="a") as cache:
        cache.adopt(worker.used, worker.questions, StageRun(**worker.counts()))
        assert (cache.used, cache.counts()) == (worker.used, worker.counts())
        assert list(cache.used.values()) == ["verify"]
        assert list(cache.questions.values()) == [{"urban-1"}]


async def test_of_two_that_called_at_once_the_first_row_stands(place: Path) -> None:
    """Without a lock between processes: both pay, and both are told the same."""
    with CallCache(place, stage="a") as one, CallCache(place, stage="b") as two:

        async def slow() -> CallResult:
            await two.get_or_call("model", REQUEST, result("faster"))
            return CallResult("slower")

        answer = await one.get_or_call("model", REQUEST, slow)
    assert answer.call.response == "faster"


async def test_refresh_calls_once_a_key_and_run_and_overwrites(place: Path) -> None:
    call = Paid()
    with CallCache(place, stage="a") as cache:
        await cache.get_or_call("model", REQUEST, call)
    with CallCache(place, stage="a", mode="refresh") as cache:
        first = await cache.get_or_call("model", REQUEST, call)
        second = await cache.get_or_call("model", REQUEST, call)
        assert (first.hit, second.hit) == (False, True)
    with CallCache(place, stage="a") as cache:
        after = await cache.get_or_call("model", REQUEST, call)
    assert call.made == 2
    responses = [answer.call.response for answer in (first, second, after)]
    assert responses == [{"text": "answer 2"}] * 3


async def test_several_versions_of_a_model_are_warned_about_once(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CallCache(place, stage="a") as cache, caplog.at_level(logging.WARNING):
        for index, version in enumerate(["v1", "v1", "v2", "v3"]):
            request = {**REQUEST, "sample_index": index}
            await cache.get_or_call("model", request, result("x", version))
    assert [record.getMessage() for record in caplog.records] == [
        "p/e/m answered in several versions (v1, v2): the results mix them. Mode refresh asks "
        "everything again"
    ]


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EnvironmentFault, match=r"file/cache cannot be used.*writable"):
        CallCache(tmp_path / "file" / "cache", stage="a")
    (tmp_path / "cache" / "cache.db").mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match=r"cache cannot be used: unable to open"):
        CallCache(tmp_path / "cache", stage="a")


def test_a_file_that_is_no_database_is_named(place: Path) -> None:
    place.mkdir()
    (place / "cache.db").write_bytes(b"not a database at all, but long enough " * 100)
    with pytest.raises(CacheError, match=r"cache\.db is damaged or not a call cache"):
        CallCache(place, stage="a")


@pytest.mark.parametrize("how", ["emptied", "dropped"])
def test_an_emptied_database_is_said_before_anything_is_paid_again(place: Path, how: str) -> None:
    CallCache(place, stage="a").close()
    if how == "emptied":
        (place / "cache.db").write_bytes(b"")
    else:
        with closing(sqlite3.connect(place / "cache.db")) as database, database:
            database.execute("DROP TABLE Cache")
    with pytest.raises(CacheError, match="and the ledger of what was spent"):
        CallCache(place, stage="a")
    (place / "cache.db").unlink()
    CallCache(place, stage="a").close()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"request": {"model": "m"}, "usage": {}, "time": ""}', "names no provider, endpoint"),
        ('{"request": {}, "usage": {"calls": -1}, "time": ""}', "names no"),
        ('{"request": [], "usage": {}, "time": ""}', "request"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_ledger_that_was_altered_is_said_to_be(place: Path, text: str, problem: str) -> None:
    with CallCache(place, stage="a") as cache:
        cache._store.put({"spent/1": text})
        with pytest.raises(CacheError, match=rf"spent cannot be read.*spent/1.*{problem}"):
            cache.ledger().news()


def _limit_pages(cache: CallCache, pages: int) -> None:
    """Make the database full for this connection, as a full disk does."""
    cache._store._cache._sql(f"PRAGMA max_page_count = {pages}")


async def test_a_result_that_a_full_disk_refused_is_kept_and_stored_later(place: Path) -> None:
    call = Paid()
    huge = "x" * 200_000
    made = 0

    async def large() -> CallResult:
        nonlocal made
        made += 1
        return CallResult(huge)

    with CallCache(place, stage="a") as cache:
        await cache.get_or_call("model", REQUEST, call)
        _limit_pages(cache, 30)
        with pytest.raises(EnvironmentFault, match=r"full.*free space.*paid for.*kept in memory"):
            await cache.get_or_call("model", {"n": 1}, large)
        again = await cache.get_or_call("model", {"n": 1}, large)  # a new connection: space again
        assert again.call.response == huge
    assert made == 1
    with CallCache(place, stage="a") as cache:
        assert (await cache.get_or_call("model", {"n": 1}, large)).hit
        assert (await cache.get_or_call("model", REQUEST, call)).hit
    assert (made, call.made) == (1, 1)


async def test_a_kept_result_is_stored_at_the_end_of_the_run(place: Path) -> None:
    with CallCache(place, stage="a") as cache:
        _limit_pages(cache, 30)
        with pytest.raises(EnvironmentFault):
            await cache.get_or_call("model", {"n": 1}, result("x" * 200_000))
    assert cache_stats(place).entries == 1


async def test_a_closed_cache_refuses_calls(place: Path) -> None:
    cache = CallCache(place, stage="a")
    cache.close()
    cache.close()
    with pytest.raises(RuntimeError, match="closed"):
        await cache.get_or_call("model", REQUEST, Paid())


def _names(place: Path) -> set[str]:
    return {path.name for path in place.rglob("*")}


async def test_nothing_is_ever_dropped(place: Path) -> None:
    with CallCache(place, stage="a") as cache:
        settings = cache._store._cache
        assert settings.eviction_policy == "none"
        assert settings.cull_limit == 0
        assert settings.size_limit >= 2**62
        assert settings._sql("PRAGMA synchronous").fetchall() == [(2,)]
        assert settings._sql("PRAGMA journal_mode").fetchall() == [("wal",)]
        await cache.get_or_call("model", REQUEST, result("x" * 100_000))
    assert _names(place) <= {"cache.db", "cache.db-wal", "cache.db-shm"}


# Many who ask for one call at once.


async def test_a_hundred_requests_make_one_call(place: Path) -> None:
    call = Paid(0.05)
    with CallCache(place, stage="a") as cache:
        answers = await asyncio.gather(
            *(cache.get_or_call("model", REQUEST, call) for _ in range(100))
        )
        assert (cache.counts()["hits"], cache.counts()["misses"]) == (99, 1)
    assert call.made == 1
    assert len({answer.call.key for answer in answers}) == 1
    assert [answer.hit for answer in answers].count(False) == 1


async def test_different_calls_run_side_by_side(place: Path) -> None:
    together = asyncio.Barrier(50)

    async def call() -> CallResult:
        await together.wait()  # none ends before all have begun
        return CallResult("done")

    with CallCache(place, stage="a") as cache:
        await asyncio.gather(*(cache.get_or_call("model", {"n": n}, call) for n in range(50)))
        assert cache.counts()["misses"] == 50


async def test_waiters_see_the_callers_exception(place: Path) -> None:
    error = ConnectionError("down")
    call = Paid(0.02, error)
    with CallCache(place, stage="a") as cache:
        outcomes = await asyncio.gather(
            *(cache.get_or_call("model", REQUEST, call) for _ in range(5)), return_exceptions=True
        )
        assert outcomes == [error] * 5
        assert call.made == 1
        call.error = None
        assert not (await cache.get_or_call("model", REQUEST, call)).hit


@pytest.mark.parametrize("cancelled", [0, 2])
async def test_a_cancelled_waiter_leaves_the_others_alone(place: Path, cancelled: int) -> None:
    call = Paid(0.05)
    with CallCache(place, stage="a") as cache:
        waiters = [asyncio.create_task(cache.get_or_call("model", REQUEST, call)) for _ in range(4)]
        await asyncio.sleep(0.01)
        waiters[cancelled].cancel()
        outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    assert isinstance(outcomes[cancelled], asyncio.CancelledError)
    rest = [outcome for index, outcome in enumerate(outcomes) if index != cancelled]
    assert [outcome.call.response for outcome in rest] == [{"text": "answer 1"}] * 3
    assert call.made == 1


async def test_the_last_waiters_cancellation_ends_the_call(place: Path) -> None:
    ended = asyncio.Event()

    async def endless() -> CallResult:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return CallResult("late")

    with CallCache(place, stage="a") as cache:
        waiters = [
            asyncio.create_task(cache.get_or_call("model", REQUEST, endless)) for _ in range(3)
        ]
        await asyncio.sleep(0.02)
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        assert ended.is_set()
        assert not (await cache.get_or_call("model", REQUEST, Paid())).hit


async def test_a_request_during_the_end_of_a_cancelled_call_makes_its_own(place: Path) -> None:
    async def slow_to_end() -> CallResult:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
        return CallResult("late")

    call = Paid()
    with CallCache(place, stage="a") as cache:
        first = asyncio.create_task(cache.get_or_call("model", REQUEST, slow_to_end))
        await asyncio.sleep(0.02)
        first.cancel()
        await asyncio.sleep(0.02)
        answer = await cache.get_or_call("model", REQUEST, call)
        with pytest.raises(asyncio.CancelledError):
            await first
    assert answer.call.response == {"text": "answer 1"}
