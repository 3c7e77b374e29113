"""What replies from a batch cost: at the batch's price, once, and also where they are of no use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from simulrag.calls import CallCache, Mode
from simulrag.errors import CallsPending, ModelError
from simulrag.method.verification import VERBALIZED
from simulrag.models.batch.rounds import read_files
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.pending import Batched, BatchReply, PendingCall, PendingCalls, PendingStore
from simulrag.models.prices import Price, PriceTable
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Usage
from simulrag.testing.loopback import Act, LoopbackServer, canned, fails

PROMPTS = Path(__file__).parents[2] / "prompts"
ANSWERS = canned({"Verbalized": '{"probability": 0.5}'})
PRICES = PriceTable(
    batch_share=0.5,
    models=(Price(provider="openai", model="m", input=10, output=100, as_of="2026-11"),),
)
TAKEN = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
BILLED = Act(text='{"probability": 0.5}', usage=TAKEN)
BATCH_USAGE = Usage(input_tokens=1000, output_tokens=100)
CALL_USD = 0.02
BATCH_USD = CALL_USD / 2


@contextmanager
def opened(folder: Path, url: str, mode: Mode) -> Iterator[Gateway]:
    """A stage's gateway with a budget, on one cache folder."""
    settings = ModelSettings.model_validate(
        {
            **{"provider": "openai", "model": "m", "base_url": url, "paid": True},
            "sampling": {"max_output_tokens": 150},
        }
    )
    with CallCache(folder, stage="test", mode=mode) as cache:
        account = Account(cache.ledger(), PRICES)
        budget = Budget(BudgetLimits(usd=5), account, ("openai", "default", "m"))
        pending = None
        if mode != "refresh":
            pending = PendingCalls(folder, stage="test", collect=mode == "deferred")
        yield Gateway(
            make_provider(settings),
            settings,
            cache,
            Prompts(PROMPTS),
            retries=0,
            budget=budget,
            wrap=None if pending is None else partial(Batched, pending),
        )
        if pending is not None:
            pending.close()


async def ask(folder: Path, url: str, mode: Mode = "normal") -> None:
    with opened(folder, url, mode) as gate:
        try:
            await gate.ask(VERBALIZED, question="Q", claim="a")
        finally:
            await gate.close()


async def collected(folder: Path) -> tuple[PendingStore, PendingCall]:
    """The one call, waiting."""
    with pytest.raises(CallsPending):
        await ask(folder, "http://127.0.0.1:9/v1", "deferred")
    store = PendingStore(folder)
    (call,) = store.calls()
    return store, call


async def answered(folder: Path, text: str) -> None:
    """The one call, with a reply that a batch brought."""
    store, call = await collected(folder)
    reply = BatchReply(text=text, usage=BATCH_USAGE, model_version="m-1")
    store.put(call.model_copy(update={"reply": reply}))


def spent(folder: Path) -> float:
    with CallCache(folder, stage="look", mode="replay") as cache:
        account = Account(cache.ledger(), PRICES)
        account.update()
    return account.spent.usd


async def test_what_refresh_overwrites_keeps_the_price_of_its_batch(tmp_path: Path) -> None:
    await answered(tmp_path, '{"probability": 0.5}')
    with LoopbackServer(ANSWERS, [BILLED]) as server:
        await ask(tmp_path, server.url)
        assert spent(tmp_path) == pytest.approx(BATCH_USD)
        await ask(tmp_path, server.url, "refresh")
        assert len(server.requests) == 1
    assert spent(tmp_path) == pytest.approx(BATCH_USD + CALL_USD)


async def test_a_batchs_reply_counts_once_however_often_its_repair_fails(tmp_path: Path) -> None:
    await answered(tmp_path, "no JSON")
    with LoopbackServer(ANSWERS, [fails(500), fails(500), BILLED]) as server:
        for _ in range(2):
            with pytest.raises(ModelError, match="500"):
                await ask(tmp_path, server.url)
        assert spent(tmp_path) == 0  # on the list still, where `batch submit` counts it
        await ask(tmp_path, server.url)
    assert spent(tmp_path) == pytest.approx(BATCH_USD + CALL_USD)


async def test_a_batchs_reply_that_was_cut_off_was_billed(tmp_path: Path) -> None:
    _, call = await collected(tmp_path)
    body = {
        "choices": [{"finish_reason": "length", "message": {"content": '{"prob'}}],
        "usage": TAKEN,
    }
    line = {"custom_id": call.id, "response": {"status_code": 200, "body": body}}
    results = tmp_path / "results.jsonl"
    results.write_text(json.dumps(line), encoding="utf-8")
    assert read_files(PendingStore(tmp_path), [results]).failed == 1
    for _ in range(2):
        with pytest.raises((ModelError, CallsPending), match=r"cut off|waits"):
            await ask(tmp_path, "http://127.0.0.1:9/v1", "deferred")
    assert spent(tmp_path) == pytest.approx(BATCH_USD)
