from __future__ import annotations

import asyncio

import pytest

from simulrag.models.limiter import Limiter


async def test_no_more_than_the_limit_are_under_way_and_all_get_through() -> None:
    limiter = Limiter(3)
    under_way = most = done = 0

    async def work() -> None:
        nonlocal under_way, most, done
        async with limiter.place():
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.001)
            under_way -= 1
            done += 1

    await asyncio.gather(*(work() for _ in range(20)))
    assert (most, done) == (3, 20)


async def test_throttling_halves_once_for_what_had_begun_before() -> None:
    limiter = Limiter(16)
    began = asyncio.get_running_loop().time()
    for _ in range(5):
        limiter.throttled(began)
    assert limiter.limit == 8
    await asyncio.sleep(0.001)
    limiter.throttled(asyncio.get_running_loop().time())
    assert limiter.limit == 4


async def test_it_grows_by_one_for_each_round_of_successes_up_to_the_ceiling() -> None:
    limiter = Limiter(8)
    limiter.throttled(asyncio.get_running_loop().time())
    assert limiter.limit == 4
    for _ in range(5):
        limiter.succeeded()
    assert limiter.limit == 5
    for _ in range(200):
        limiter.succeeded()
    assert limiter.limit == 8


async def test_it_never_closes_altogether() -> None:
    limiter = Limiter(2)
    for _ in range(10):
        limiter.throttled(asyncio.get_running_loop().time())
        await asyncio.sleep(0.0001)
    async with asyncio.timeout(1), limiter.place():
        assert limiter.limit == 1


async def test_nobody_begins_while_the_provider_asks_to_wait() -> None:
    limiter = Limiter(4)
    loop = asyncio.get_running_loop()
    asked = loop.time()
    limiter.throttled(asked, wait_s=0.1)
    assert await limiter.begin() - asked >= 0.1


async def test_a_cancelled_waiter_takes_nobodys_place() -> None:
    limiter = Limiter(1)
    order: list[int] = []

    async def work(number: int) -> None:
        async with limiter.place():
            order.append(number)

    async with limiter.place():
        tasks = [asyncio.create_task(work(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.sleep(0)
    # The place is the first one's now; cancelled before it runs, that one hands it on.
    tasks[0].cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 1)
    assert order == [2, 3]
    async with asyncio.timeout(1), limiter.place():
        pass


def test_a_limiter_lets_somebody_through() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Limiter(0)
