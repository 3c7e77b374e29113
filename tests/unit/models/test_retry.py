from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from simulrag.errors import ModelError, ProviderDown
from simulrag.models.limiter import Limiter
from simulrag.models.providers.retry_after import retry_after_s
from simulrag.models.retry import DOWN_AFTER, Retries, RetryPolicy

QUICK = RetryPolicy(retries=3, backoff_s=0.001, longest_wait_s=0.5)
BUSY = ModelError("busy", kind="unavailable")


def scripted(*lines: str | ModelError) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    left = list(lines)
    attempts: list[int] = []

    async def attempt() -> str:
        attempts.append(1)
        line = left.pop(0)
        if isinstance(line, ModelError):
            raise line
        return line

    return attempt, attempts


@pytest.mark.parametrize("kind", ["unavailable", "timeout"])
async def test_what_may_pass_is_tried_again(kind: str) -> None:
    attempt, attempts = scripted(ModelError("x", kind=kind), ModelError("x", kind=kind), "yes")
    retries = Retries(QUICK, Limiter(4))
    assert await retries.run(attempt) == "yes"
    assert len(attempts) == 3
    assert retries.failures == {kind: 2}


@pytest.mark.parametrize("kind", ["refused", "truncated", "invalid_reply"])
async def test_what_stays_is_not(kind: str) -> None:
    attempt, attempts = scripted(ModelError("no", kind=kind), "never asked")
    with pytest.raises(ModelError, match="no"):
        await Retries(QUICK, Limiter(4)).run(attempt)
    assert len(attempts) == 1


async def test_a_call_is_given_up_alone_while_others_come_through() -> None:
    retries = Retries(QUICK, Limiter(1))
    for _ in range(DOWN_AFTER + 2):
        poisoned, _ = scripted(*[BUSY] * 4)
        fine, _ = scripted("yes")
        results = await asyncio.gather(
            retries.run(poisoned), retries.run(fine), return_exceptions=True
        )
        assert isinstance(results[0], ModelError)
        assert "tried 4 times" in str(results[0])
        assert results[1] == "yes"


async def test_when_nobody_comes_through_the_provider_is_down_for_all() -> None:
    retries = Retries(QUICK, Limiter(8))
    for _ in range(DOWN_AFTER - 1):
        with pytest.raises(ModelError):
            await retries.run(scripted(*[BUSY] * 4)[0])
    with pytest.raises(ProviderDown, match=r"down.*busy \(tried 4 times\).*paid for is kept"):
        await retries.run(scripted(*[BUSY] * 4)[0])
    attempt, attempts = scripted("never asked")
    with pytest.raises(ProviderDown):
        await retries.run(attempt)
    assert attempts == []


async def test_one_call_is_enough_where_no_connection_can_be_made() -> None:
    gone = ModelError("no connection", kind="unavailable", cause="unreachable")
    with pytest.raises(ProviderDown):
        await Retries(QUICK, Limiter(8)).run(scripted(*[gone] * 4)[0])


async def test_throttling_slows_everybody_down() -> None:
    limiter = Limiter(8)
    slow_down = ModelError("429", kind="unavailable", cause="throttled", retry_after_s=0.05)
    retries = Retries(QUICK, limiter)
    began = asyncio.get_running_loop().time()
    assert await retries.run(scripted(slow_down, "yes")[0]) == "yes"
    assert asyncio.get_running_loop().time() - began >= 0.05
    assert limiter.limit == 4
    assert retries.failures == {"throttled": 1}


async def test_nobody_waits_for_hours() -> None:
    tomorrow = ModelError("429", kind="unavailable", cause="throttled", retry_after_s=7200)
    attempt, attempts = scripted(tomorrow, "never asked")
    with pytest.raises(ModelError, match="tried once"):
        await Retries(QUICK, Limiter(8)).run(attempt)
    assert len(attempts) == 1


def test_waits_double_with_full_jitter_up_to_the_longest() -> None:
    policy = RetryPolicy(retries=9, backoff_s=1, longest_wait_s=10)
    assert [policy.wait_s(n, None, lambda: 1.0) for n in range(6)] == [1, 2, 4, 8, 10, 10]
    assert policy.wait_s(3, None, lambda: 0.0) == 0
    assert policy.wait_s(3, None, lambda: 0.25) == 2


def test_what_the_provider_asks_to_wait_is_never_cut() -> None:
    policy = RetryPolicy(retries=9, backoff_s=1, longest_wait_s=10)
    assert policy.wait_s(0, 7.0, lambda: 0.0) == 7
    assert policy.wait_s(3, 7.0, lambda: 1.0) == 8


NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "3", "retry-after-ms": "1250"}, 1.25),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOON) == seconds
