"""A budget is never passed, whatever runs at once; what was billed counts, used or not."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulrag.calls import CachePlace, CallCache
from simulrag.errors import BudgetMissing, BudgetSpent, InputError, ModelError
from simulrag.models.base import Message
from simulrag.models.budget import Account, Budget
from simulrag.models.live import estimated_usage
from simulrag.models.prices import Price, PriceTable
from simulrag.models.settings import BudgetLimits
from simulrag.records import Usage

NAME = ("lab", "default", "m")
PRICES = PriceTable(
    batch_share=0.5,
    models=(Price(provider="lab", model="m", input=10, output=100, as_of="2026-11"),),
)
USED = Usage(calls=1, input_tokens=1000, output_tokens=100)
CALL_USD = 0.02
"""What that usage costs: 1000 tokens at 10 and 100 at 100 USD a million."""


@contextmanager
def opened(
    place: CachePlace, limits: BudgetLimits, prices: PriceTable = PRICES
) -> Iterator[tuple[Budget, Account]]:
    with CallCache(place, stage="test") as cache:
        account = Account(cache.ledger(), prices, limits.since)
        yield Budget(limits, account, NAME), account


def spent(place: CachePlace) -> float:
    with CallCache(place, stage="look") as cache:
        account = Account(cache.ledger(), PRICES)
        account.update()
    return account.spent.usd


async def test_concurrent_calls_never_pass_the_budget(tmp_path: Path) -> None:
    limit = 0.5
    draw = random.Random(3)
    under_way = most = 0

    async def call(budget: Budget) -> bool:
        nonlocal under_way, most
        try:
            async with budget.call(1500, 150) as bill:  # bound: 0.03 USD, more than it will take
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(draw.uniform(0, 0.003))
                under_way -= 1
                bill.add(USED)
        except BudgetSpent:
            return False
        return True

    with opened(tmp_path, BudgetLimits(usd=limit)) as (budget, _):
        done = sum(await asyncio.gather(*(call(budget) for _ in range(60))))
        said = str(budget.stopped())
    assert spent(tmp_path) == pytest.approx(done * CALL_USD)
    assert limit - 0.03 < spent(tmp_path) <= limit
    assert 1 < most <= 16  # as many at once as their bounds have room
    assert "budget of 0.50 USD would be passed: spent 0." in said
    assert f"at least {60 - done} calls left" in said
    assert "operations.budget" in said
    # Another process later: the same ledger, so nothing more is bought.
    with opened(tmp_path, BudgetLimits(usd=limit)) as (budget, _):
        assert not await call(budget)
    with opened(tmp_path, BudgetLimits(usd=limit + 0.1)) as (budget, _):
        assert await call(budget)


async def test_a_server_that_counts_no_tokens_is_charged_by_length(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sent = (Message(role="user", content="x" * 4000),)
    used = estimated_usage(sent, {"type": "object"}, "y" * 399)
    assert (used.calls, used.input_tokens, used.output_tokens) == (1, 1005, 100)
    with opened(tmp_path, BudgetLimits(tokens=5000)) as (budget, account):
        for _ in range(3):
            async with budget.call(1500, 150) as bill:
                budget.estimate(Usage(calls=1), used)
                bill.add(used)
        account.update()
        assert account.spent.tokens == 3 * 1105
        with pytest.raises(BudgetSpent, match=r"3,315 tokens \(3,315 of them estimated\)"):
            async with budget.call(1500, 500):
                pass
    assert len(caplog.messages) == 1


async def test_what_was_billed_counts_also_where_the_call_failed(tmp_path: Path) -> None:
    with opened(tmp_path, BudgetLimits(usd=1)) as (budget, account):
        with pytest.raises(ModelError, match="refused"):  # noqa: PT012 the call is the block
            async with budget.call(1500, 150) as bill:
                bill.add(USED)
                raise ModelError("refused")
        async with budget.call(1500, 150) as bill:
            bill.add(USED)
            bill.add(USED)  # an attempt and the repair of its reply
        async with budget.call(1500, 150):
            pass  # nobody said what it took
        budget.note(USED, "batch")
        account.update()
        assert (account.spent.usd, account.calls) == (pytest.approx(3.5 * CALL_USD), 4)
    assert spent(tmp_path) == pytest.approx(3.5 * CALL_USD)


async def test_without_a_limit_no_call_is_made(tmp_path: Path) -> None:
    with opened(tmp_path, BudgetLimits()) as (budget, _):
        with pytest.raises(BudgetMissing, match=r"lab:m costs money.*simulrag plan") as missing:
            async with budget.call(10, 10):
                raise AssertionError("it was begun")
        assert missing.value.exit_code == 2


async def test_tokens_need_no_price_and_money_does(tmp_path: Path) -> None:
    with opened(tmp_path, BudgetLimits(tokens=2300), PriceTable()) as (budget, account):
        async with budget.call(1500, 150) as bill:
            bill.add(USED)
        with pytest.raises(BudgetSpent, match="2,300 tokens would be passed"):
            async with budget.call(1500, 150):
                raise AssertionError("it was begun")
        account.update()
        assert account.spent.tokens == 1100
    with (
        pytest.raises(InputError, match=r"no price is known of lab:m.*prices\.yaml"),
        opened(tmp_path, BudgetLimits(usd=1), PriceTable()),
    ):
        pass


async def test_a_bound_needs_the_longest_reply(tmp_path: Path) -> None:
    limits = BudgetLimits(usd=5)
    unbounded = pytest.raises(InputError, match=r"longest reply of m: set sampling\.max_output_tok")
    with opened(tmp_path, limits) as (budget, _), unbounded:
        async with budget.call(10):
            pass
    table = PriceTable(models=PRICES.models, max_output={"m": 100_000})
    too_long = pytest.raises(BudgetSpent, match=r"up to 10\.0.*as m may write that much")
    with opened(tmp_path, limits, table) as (budget, _), too_long:
        async with budget.call(10):
            pass


async def test_what_was_paid_before_a_day_does_not_count(tmp_path: Path) -> None:
    with opened(tmp_path, BudgetLimits(usd=1)) as (budget, _):
        budget.note(USED)
    for since, calls in (("2000-01-01", 1), ("2999-01-01", 0)):
        limits = BudgetLimits.model_validate({"usd": 1, "since": since})
        with opened(tmp_path, limits) as (_, account):
            account.update()
            assert account.calls == calls
