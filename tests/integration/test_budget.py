"""A budget over real sockets: never passed, shared by processes, what was paid for kept."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulrag.calls import (
    CachePlace,
    CallCache,
    Mode,
    export_cache,
    import_cache,
    parse_place,
    verify_cache,
)
from simulrag.errors import BudgetMissing, BudgetSpent, InputError, ModelError
from simulrag.models.budget import Account, Budget, BudgetLimits
from simulrag.models.gateway import Gateway
from simulrag.models.providers.payment import is_paid, reply_limit
from simulrag.models.prices import Price, PriceTable
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import Verbalized
from simulrag.models.retry import RetryPolicy
from simulrag.models.settings import ModelSettings
from simulrag.testing.loopback import CUT_OFF, Act, LoopbackServer, canned, refuses
from tests.servers.places import place, redis_place, redis_program

__all__ = ["place", "redis_place", "redis_program"]

PROMPTS = Path(__file__).parents[2] / "prompts"
ANSWERS = canned({"Verbalized": '{"probability": 0.5}'})
PRICES = PriceTable(
    models=(Price(provider="openai", model="m", input=10, output=100, as_of="2026-11"),)
)
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
CALL_USD = 0.02
"""What one reply with that usage costs: 1000 tokens at 10 and 100 at 100 USD a million."""
LIMITS = BudgetLimits(usd=5)
BILLED = Act(text='{"probability": 0.5}', usage=USAGE)
QUICK = RetryPolicy(retries=0, backoff_s=0.01)
SAMPLING = {"max_output_tokens": 150}


@contextmanager
def opened(
    place: CachePlace,
    url: str,
    limits: BudgetLimits,
    mode: Mode = "normal",
    *,
    prices: PriceTable = PRICES,
    sampling: Mapping[str, int] = SAMPLING,
) -> Iterator[tuple[Gateway, Account]]:
    settings = ModelSettings.model_validate(
        {
            "provider": "openai",
            "model": "m",
            "base_url": url,
            "paid": True,
            "sampling": sampling,
        }
    )
    provider = make_provider(settings)
    assert is_paid(provider)
    with CallCache(place, stage="test", mode=mode) as cache:
        account = Account(cache.ledger(), prices, limits.since)
        budget = Budget(
            limits, account, ("openai", "default", "m"), max_output=reply_limit(provider)
        )
        yield (
            Gateway(
                provider,
                settings,
                cache,
                Prompts(PROMPTS),
                concurrency=16,
                timeout_s=60,
                retry=QUICK,
                budget=budget,
            ),
            account,
        )
        budget.close()


async def ask(gate: Gateway, count: int, first: int = 0) -> list[object]:
    results = await asyncio.gather(
        *(
            gate.ask("verbalized", Verbalized, question="Q", claim=f"{i}")
            for i in range(first, first + count)
        ),
        return_exceptions=True,
    )
    await gate.close()
    return list(results)


def spent(place: CachePlace) -> float:
    with CallCache(place, stage="look", mode="replay") as cache:
        account = Account(cache.ledger(), PRICES)
        account.update()
        account.ledger.close()
    return account.spent.usd


def finished(results: list[object]) -> int:
    return sum(not isinstance(result, BaseException) for result in results)


async def test_concurrent_calls_never_pass_the_budget(place: CachePlace) -> None:
    limit = 0.5
    with LoopbackServer(ANSWERS, [BILLED] * 200) as server:
        with opened(place, server.url, BudgetLimits(usd=limit)) as (gate, _):
            results = await ask(gate, 60)
        stopped = [r for r in results if isinstance(r, BudgetSpent)]
        done = finished(results)
        assert done + len(stopped) == 60
        assert done == len(server.requests)
        assert spent(place) == pytest.approx(done * CALL_USD)
        assert spent(place) <= limit
        # Waiting for those under way uses the budget up to one call's upper bound.
        assert done >= 20
        said = str(stopped[-1])
        assert "budget of 0.50 USD would be passed: spent 0." in said
        assert "operations.budget" in said
        assert f"at least {len(stopped)} calls left" in said
        assert "the next one may take up to 0.0" in said
        assert "max_output_tokens" not in said
        # Another process later: the same ledger, so nothing more is bought; hits cost nothing.
        with opened(place, server.url, BudgetLimits(usd=limit)) as (gate, _):
            again = await ask(gate, 60)
        assert finished(again) == done == len(server.requests)
        with opened(place, server.url, BudgetLimits(usd=10)) as (gate, _):
            assert finished(await ask(gate, 60)) == 60
        assert len(server.requests) == 60
    assert verify_cache(place).problems == ()


async def test_a_budget_below_the_longest_reply_says_what_to_do(place: CachePlace) -> None:
    listed = PRICES.models[0].model_copy(update={"max_output": 100_000})
    with LoopbackServer(ANSWERS) as server:
        prices, limits = PriceTable(models=(listed,)), BudgetLimits(usd=5)
        with opened(place, server.url, limits, prices=prices, sampling={}) as (gate, _):
            (stopped,) = await ask(gate, 1)
        assert isinstance(stopped, BudgetSpent)
        assert not server.requests
    assert "the next one may take up to 10.0" in str(stopped)
    assert "as m may write that much: set sampling.max_output_tokens" in str(stopped)


async def test_tokens_alone_need_no_price(place: CachePlace) -> None:
    unpriced = PriceTable()
    with LoopbackServer(ANSWERS, [BILLED] * 200) as server:
        limits = BudgetLimits(tokens=20_000)
        with opened(place, server.url, limits, prices=unpriced) as (gate, account):
            results = await ask(gate, 60)
            account.update()
            assert 10_000 < account.spent.tokens <= 20_000
        assert 0 < finished(results) < 60
        limits = BudgetLimits(usd=1)
        with (
            pytest.raises(InputError, match=r"prices\.yaml.*openai:m"),
            opened(place, server.url, limits, prices=unpriced),
        ):
            pass


async def test_without_a_budget_no_call_is_made(place: CachePlace) -> None:
    with LoopbackServer(ANSWERS) as server:
        with opened(place, server.url, BudgetLimits()) as (gate, _):
            results = await ask(gate, 3)
        assert all(isinstance(result, BudgetMissing) for result in results)
        assert not server.requests
    assert results[0].exit_code == 2  # type: ignore[attr-defined]


async def test_what_was_billed_and_could_not_be_used_counts_after_a_restart(
    place: CachePlace,
) -> None:
    cut = Act(text=CUT_OFF.text, finish_reason="length", usage=USAGE)
    refused = Act(message=dict(refuses().message), text="", usage=USAGE)
    nonsense = Act(text="no JSON", usage=USAGE)
    acts = [cut, refused, nonsense, nonsense, nonsense, BILLED]
    with LoopbackServer(ANSWERS, acts) as server:
        with opened(place, server.url, BudgetLimits(usd=5)) as (gate, account):
            results = [
                (
                    await asyncio.gather(
                        gate.ask("verbalized", Verbalized, question="Q", claim=f"{i}"),
                        return_exceptions=True,
                    )
                )[0]
                for i in range(4)
            ]
            assert [type(result) for result in results[:3]] == [ModelError] * 3
            assert not isinstance(results[3], BaseException)
            account.update()
            assert account.spent.usd == pytest.approx(6 * CALL_USD)
            assert gate.paid["verbalized"].calls == 6
            await gate.close()
        assert len(server.requests) == 6
    assert spent(place) == pytest.approx(6 * CALL_USD)


async def test_what_refresh_overwrites_stays_spent(place: CachePlace) -> None:
    with LoopbackServer(ANSWERS, [BILLED] * 20) as server:
        with opened(place, server.url, BudgetLimits(usd=5)) as (gate, _):
            await ask(gate, 3)
        with opened(place, server.url, BudgetLimits(usd=5), "refresh") as (
            gate,
            account,
        ):
            await ask(gate, 3)
            account.update()
            assert account.spent.usd == pytest.approx(6 * CALL_USD)
        assert len(server.requests) == 6
    assert spent(place) == pytest.approx(6 * CALL_USD)


async def test_imported_calls_were_paid_elsewhere(tmp_path: Path) -> None:
    with (
        LoopbackServer(ANSWERS, [BILLED] * 20) as server,
        opened(tmp_path / "one", server.url, BudgetLimits(usd=5)) as (gate, _),
    ):
        await ask(gate, 3)
    export_cache(tmp_path / "one", tmp_path / "calls.parquet")
    assert import_cache(tmp_path / "two", tmp_path / "calls.parquet").imported == 3
    assert spent(tmp_path / "one") == pytest.approx(3 * CALL_USD)
    assert spent(tmp_path / "two") == 0


def _spend(address: str, url: str, first: int, limit: float) -> None:
    async def work() -> None:
        with opened(parse_place(address), url, BudgetLimits(usd=limit)) as (gate, _):
            await ask(gate, 30, first)

    asyncio.run(work())


def test_processes_share_one_budget(place: CachePlace) -> None:
    limit = 0.4
    with LoopbackServer(ANSWERS, [BILLED] * 200) as server:
        context = multiprocessing.get_context("spawn")
        workers = [
            context.Process(target=_spend, args=(str(place), server.url, first, limit))
            for first in (0, 100, 200)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0, 0, 0]
        made = len(server.requests)
    assert spent(place) == pytest.approx(made * CALL_USD)
    assert 12 <= made <= 20
