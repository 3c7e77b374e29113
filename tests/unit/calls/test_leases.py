"""Leases: who may call, and what becomes of a claim whose owner died, slept or lied."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from simulrag.calls import CachePlace, CallCache, CallResult, call_key
from simulrag.calls.leases import LEASE_S, Lease, Renewals, is_free, release, take
from simulrag.calls.opening import open_rows

KEY = "ab" * 32
REQUEST = {"model": "m"}


def test_a_lease_has_one_owner_who_alone_can_give_it_back(place: CachePlace) -> None:
    rows = open_rows(place)
    mine, theirs = Lease(KEY), Lease(KEY)
    assert take(rows, mine)
    assert take(rows, mine)
    assert not take(rows, theirs)
    release(rows, theirs)
    assert not is_free(rows, theirs)
    release(rows, mine)
    assert take(rows, theirs)


def test_a_lease_ends_by_itself(place: CachePlace) -> None:
    rows = open_rows(place)
    assert take(rows, Lease(KEY, seconds=0.5))
    assert not is_free(rows, Lease(KEY))
    time.sleep(0.55)
    assert take(rows, Lease(KEY))


def test_a_lease_from_before_a_reboot_is_dead(place: CachePlace) -> None:
    """The monotonic clock starts anew then: no living lease lasts longer than a lease can."""
    rows = open_rows(place)
    assert take(rows, Lease(KEY, seconds=LEASE_S + 3600))
    assert is_free(rows, Lease(KEY))


@pytest.mark.parametrize("shift_s", [-86_400.0, 86_400.0])
def test_the_time_of_day_does_not_matter(
    place: CachePlace, monkeypatch: pytest.MonkeyPatch, shift_s: float
) -> None:
    rows = open_rows(place)
    assert take(rows, Lease(KEY))
    now_s = time.time()
    monkeypatch.setattr(time, "time", lambda: now_s + shift_s)
    assert not is_free(rows, Lease(KEY))


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"owner":"x"}', '{"owner":1,"until_s":{}}'])
def test_an_unreadable_lease_is_replaced(place: CachePlace, text: str) -> None:
    rows = open_rows(place)
    lease = Lease(KEY)
    rows.set(lease.row, text)
    assert take(rows, lease)


async def test_renewal_keeps_a_lease_but_not_one_that_was_taken_over(place: CachePlace) -> None:
    rows = open_rows(place)
    renewals = Renewals(rows, lease_s=0.3)
    lease, other = Lease(KEY, seconds=0.3), Lease(KEY, seconds=0.3)
    assert take(rows, lease)
    renewals.begin(lease)
    for _ in range(12):
        await asyncio.sleep(0.05)
        assert not is_free(rows, other)
    rows.delete(lease.row)
    assert take(rows, other)
    await asyncio.sleep(0.2)
    assert not is_free(rows, lease)
    renewals.end(lease)


async def test_a_lease_is_not_renewed_after_its_end(place: CachePlace) -> None:
    rows = open_rows(place)
    renewals = Renewals(rows, lease_s=0.15)
    lease = Lease(KEY, seconds=0.15)
    assert take(rows, lease)
    renewals.begin(lease)
    renewals.end(lease)
    await asyncio.sleep(0.3)
    assert is_free(rows, Lease(KEY))


async def test_a_dead_owners_call_is_taken_over_and_a_living_ones_is_not(
    place: CachePlace, paid: Any
) -> None:
    key = call_key("model", REQUEST)
    call = paid()
    with CallCache(place, stage="a") as cache:
        dead = Lease(key, seconds=0.5)
        assert take(cache._rows, dead)
        request = asyncio.create_task(cache.get_or_call("model", REQUEST, call))
        await asyncio.sleep(0.3)
        assert call.made == 0
        assert not (await asyncio.wait_for(request, 2)).hit
    assert call.made == 1


async def test_who_slept_past_the_lease_takes_the_row_that_is_there(place: CachePlace) -> None:
    """Two calls were paid for then; every stage is still told the same."""
    with CallCache(place, stage="a") as cache, CallCache(place, stage="b") as other:
        key = call_key("model", REQUEST)

        async def sleeper() -> CallResult:
            lost = Lease(key)
            cache._rows.delete(lost.row)  # as if it had ended while this process was suspended
            answer = await other.get_or_call("model", REQUEST, quick)
            assert answer.call.response == "first"
            return CallResult("second")

        async def quick() -> CallResult:
            return CallResult("first")

        assert (await cache.get_or_call("model", REQUEST, sleeper)).call.response == "first"


@pytest.mark.parametrize("paid_for", [False, True])
async def test_who_slept_past_the_lease_overwrites_nothing_in_refresh_neither(
    place: CachePlace, paid_for: bool
) -> None:
    """The usage of the reply that came too late is kept: it was billed."""
    key = call_key("model", REQUEST)

    def answers(text: str) -> Any:
        async def call() -> CallResult:
            return CallResult(text, {"calls": 1, "input_tokens": 5}, paid=paid_for)

        return call

    with CallCache(place, stage="a") as cache:
        await cache.get_or_call("model", REQUEST, answers("old"))
    with (
        CallCache(place, stage="a", mode="refresh") as cache,
        CallCache(place, stage="b", mode="refresh") as other,
    ):

        async def sleeper() -> CallResult:
            cache._rows.delete(Lease(key).row)  # as if it had ended meanwhile
            answer = await other.get_or_call("model", REQUEST, answers("first"))
            assert answer.call.response == "first"
            result: CallResult = await answers("second")()
            return result

        assert (await cache.get_or_call("model", REQUEST, sleeper)).call.response == "first"
    with CallCache(place, stage="c") as cache:
        told = await cache.get_or_call("model", REQUEST, answers("never"))
        assert (told.hit, told.call.response) == (True, "first")
        ledger = cache.ledger()
        assert sum(item.usage.calls for item in ledger.news()) == (3 if paid_for else 0)
        ledger.close()


async def test_an_owner_whose_lease_was_taken_over_leaves_it_alone(place: CachePlace) -> None:
    """It stores its result first; whoever took over finds it and gives back its own lease."""
    key = call_key("model", REQUEST)
    heir = Lease(key)
    with CallCache(place, stage="a") as cache:

        async def sleeper() -> CallResult:
            cache._rows.delete(Lease(key).row)
            assert take(cache._rows, heir)
            return CallResult("late")

        answer = await cache.get_or_call("model", REQUEST, sleeper)
        assert answer.call.response == "late"
        assert not is_free(cache._rows, Lease(key))


async def test_a_finished_or_failed_call_leaves_no_lease(place: CachePlace, paid: Any) -> None:
    with CallCache(place, stage="a") as cache:
        await cache.get_or_call("model", {"n": 1}, paid())
        with pytest.raises(OSError, match="down"):
            await cache.get_or_call("model", {"n": 2}, paid(error=OSError("down")))
        for n in (1, 2):
            assert cache._rows.get(Lease(call_key("model", {"n": n})).row) is None
