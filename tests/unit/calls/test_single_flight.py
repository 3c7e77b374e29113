"""Many who ask for one call at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from simulrag.calls import CallCache, CallResult
from tests.unit.calls.conftest import Paid

REQUEST = {"model": "m", "messages": ["q"]}


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
