"""Copies between places."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from simulrag.calls import (
    CachePlace,
    CallCache,
    CallResult,
    CopyReport,
    RedisPlace,
    cache_stats,
    copy_cache,
    verify_cache,
)
from simulrag.calls.inspection import read_calls
from simulrag.calls.ledger import note_spent
from simulrag.calls.opening import open_rows
from simulrag.errors import InputError

CALLS = 510
NAME = ("p", "e", "m")


@pytest.fixture(params=["diskcache", "redis"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> CachePlace:
    if request.param == "diskcache":
        return tmp_path / "target"
    redis: RedisPlace = request.getfixturevalue("redis_place")
    return replace(redis, database=1)


async def fill(place: CachePlace, count: int) -> None:
    async def call() -> CallResult:
        return CallResult({"text": "größer"}, {"calls": 1}, "v1", paid=True, service="batch")

    with CallCache(place, stage="answer") as cache:
        for n in range(count):
            request = {"provider": "p", "endpoint": "e", "model": "m", "n": n}
            await cache.get_or_call("model", request, call)
        note_spent(cache._rows, "owner", NAME, {"calls": 1}, "2026-11-01T00:00:00")
        cache._rows.set("lease/x", "{}")
        cache._rows.set("hold/x", "{}")


async def test_everything_that_was_paid_for_moves_and_counts(
    place: CachePlace, target: CachePlace
) -> None:
    await fill(place, CALLS)
    assert copy_cache(place, target) == CopyReport(copied=CALLS + 2)  # spent/ and stage/
    assert copy_cache(place, target) == CopyReport(present=CALLS + 2)
    assert list(read_calls(target)) == list(read_calls(place))
    assert cache_stats(target).stages == cache_stats(place).stages
    assert verify_cache(target).rows == CALLS + 2
    with CallCache(target, stage="look", mode="replay") as cache:
        ledger = cache.ledger()
        assert sum(item.usage.calls for item in ledger.news()) == CALLS + 1
        ledger.close()


async def test_no_row_is_overwritten_and_what_is_missing_is_added(
    place: CachePlace, target: CachePlace
) -> None:
    await fill(place, 3)
    await fill(target, 2)
    there = list(read_calls(target))
    assert copy_cache(place, target).copied == 1
    assert [call for call in read_calls(target) if call in there] == there
    assert cache_stats(target).entries == 3


async def test_a_row_that_cannot_be_trusted_stays_behind(
    place: CachePlace, target: CachePlace
) -> None:
    await fill(place, 3)
    rows = open_rows(place)
    first, second, _ = rows.names("call/")
    good = rows.get(second)
    assert good is not None
    rows.set(first, good)
    report = copy_cache(place, target)
    assert report.copied == 4
    assert [text.partition(":")[0] for text in report.refused] == [first]
    assert verify_cache(target).problems == ()


def test_a_cache_that_is_not_there_is_named(place: CachePlace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no call cache at"):
        copy_cache(place, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_without_the_extra_redis_is_a_clear_error() -> None:
    code = """
import sys
sys.modules["redis"] = None
from simulrag.calls import CallCache, parse_place
from simulrag.errors import EnvironmentFault
try:
    CallCache(parse_place("redis://127.0.0.1/0"), stage="a")
except EnvironmentFault as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "pip install 'simulrag[cluster]'" in done.stdout
