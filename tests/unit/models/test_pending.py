"""The replies of batches around a provider: what is asked, billed and kept on the list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from simulrag.calls import CallCache, cache_stats
from simulrag.errors import CallsPending, ModelUnavailable, NotOffered, ReplyTruncated
from simulrag.models.base import Message, Request
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.pending import (
    Batch,
    Batched,
    BatchReply,
    PendingCalls,
    PendingStore,
    Target,
    copy_pending,
)
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import BudgetLimits
from simulrag.records import Usage
from simulrag.testing import ScriptedModel
from simulrag.testing.scripted import SETTINGS

TARGET = Target(provider="openai", endpoint="default", model="m")
BY_BATCH = Usage(input_tokens=1000, output_tokens=100)


class Judged:
    """Accepts one text only."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted

    def __call__(self, text: object) -> None:
        if text != self.wanted:
            raise ValueError(f"not {self.wanted}")


ASKED = Request("final", (Message(role="user", content="Q"),), check=Judged("good"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def cache(place: Path) -> Iterator[CallCache]:
    with CallCache(place, stage="test") as opened:
        yield opened


def gateway(
    provider: ScriptedModel, cache: CallCache, pending: PendingCalls, limits: BudgetLimits
) -> Gateway:
    budget = Budget(limits, account(cache), SETTINGS.full_name, max_output=100)
    wrap = partial(Batched, pending)
    return Gateway(provider, SETTINGS, cache, packaged_prompts(), budget=budget, wrap=wrap)


def account(cache: CallCache) -> Account:
    return Account(cache.ledger(), PriceTable(batch_share=0.5, models=()))


def tokens(cache: CallCache) -> int:
    spent = account(cache)
    spent.update()
    return spent.spent.tokens


async def collected(place: Path, cache: CallCache) -> None:
    """The call stands on the list."""
    with closing(PendingCalls(place, stage="test", collect=True)) as pending:
        gate = gateway(ScriptedModel(), cache, pending, BudgetLimits())
        with pytest.raises(CallsPending):
            await gate.complete(ASKED)


def answer(place: Path, text: str) -> None:
    """What a batch brought to the one call that waits."""
    with closing(PendingStore(place)) as store:
        (call,) = (call for call in store.calls() if call.reply is None)
        store.put(call.model_copy(update={"reply": BatchReply(text=text, usage=BY_BATCH)}))


def listed(place: Path) -> int:
    with closing(PendingStore(place)) as store:
        return len(list(store.calls()))


async def test_a_call_waits_without_a_budget_and_its_reply_is_billed_once(
    place: Path, cache: CallCache
) -> None:
    provider = ScriptedModel()
    with closing(PendingCalls(place, stage="test", collect=True)) as pending:
        gate = gateway(provider, cache, pending, BudgetLimits())
        with pytest.raises(CallsPending):
            await gate.complete(ASKED)
        answer(place, "bad")
        for _ in range(2):  # the repair waits, and the reply before it stays on the list
            with pytest.raises(CallsPending):
                await gate.complete(ASKED)
        assert (listed(place), tokens(cache)) == (2, 0)
        answer(place, "good")
        assert [(await gate.complete(ASKED)).cached for _ in range(2)] == [False, True]
    assert (listed(place), tokens(cache)) == (0, 2200)
    assert cache_stats(place).entries == 1  # the list is no part of the cache itself
    assert (gate.usage["final"].calls, gate.paid, provider.sent) == (4, {}, [])


async def test_a_repair_that_is_asked_for_now_is_billed_beside_the_batchs_reply(
    place: Path, cache: CallCache
) -> None:
    await collected(place, cache)
    answer(place, "bad")
    with closing(PendingCalls(place, stage="test", collect=False)) as pending:
        provider = ScriptedModel(ModelUnavailable("no"), "good")
        gate = gateway(provider, cache, pending, BudgetLimits(tokens=100_000))
        with pytest.raises(ModelUnavailable):
            await gate.complete(ASKED)
        assert (listed(place), tokens(cache)) == (1, 0)
        assert (await gate.complete(ASKED)).text == "good"
    assert (listed(place), tokens(cache)) == (0, 1100 + 12)


async def test_what_is_asked_for_now_is_sent_with_no_batch_and_what_is_sent_is_waited_for(
    place: Path, cache: CallCache
) -> None:
    """Either would be paid for twice."""
    await collected(place, cache)
    with closing(PendingStore(place)) as store:
        (call,) = store.calls()
        store.put(call.model_copy(update={"batch": "b1"}))
    with closing(PendingCalls(place, stage="test", collect=False)) as pending:
        gate = gateway(ScriptedModel("good"), cache, pending, BudgetLimits(tokens=100_000))
        with pytest.raises(CallsPending, match=r"sent with the batch b1.*batch drop b1"):
            await gate.complete(ASKED)
        with closing(PendingStore(place)) as store:
            store.put(call)
        assert (await gate.complete(ASKED)).text == "good"
    assert (listed(place), pending.waiting) == (0, 1)


def test_a_batch_is_written_down_by_one_process_alone(place: Path) -> None:
    batch = Batch(name="b1", target=TARGET)
    with closing(PendingStore(place)) as one, closing(PendingStore(place)) as other:
        assert (one.add_batch(batch), other.add_batch(batch)) == (True, False)
        one.remove_batch("b1")
        assert other.add_batch(batch)


async def test_a_failure_that_a_batch_brought_was_billed_and_is_asked_again(
    place: Path, cache: CallCache
) -> None:
    cut = BatchReply(
        failure="cut off",
        failure_kind="truncated",
        usage=BY_BATCH.model_copy(update={"calls": 1}),
    )
    with closing(PendingCalls(place, stage="test", collect=True)) as pending:
        gate = gateway(ScriptedModel(), cache, pending, BudgetLimits())
        with pytest.raises(CallsPending):
            await gate.complete(ASKED)
        with closing(PendingStore(place)) as store:
            (call,) = store.calls()
            store.put(call.model_copy(update={"reply": cut}))
        for error in (ReplyTruncated, CallsPending):
            with pytest.raises(error):
                await gate.complete(ASKED)
            assert tokens(cache) == 1100


async def test_what_refresh_overwrites_stays_paid(place: Path, cache: CallCache) -> None:
    with closing(PendingCalls(place, stage="test", collect=True)) as pending:
        gate = gateway(ScriptedModel(), cache, pending, BudgetLimits())
        with pytest.raises(CallsPending):
            await gate.complete(ASKED)
        answer(place, "good")
        await gate.complete(ASKED)
    with (
        CallCache(place, stage="test", mode="refresh") as anew,
        closing(PendingCalls(place, stage="test", collect=False)) as pending,
    ):
        gate = gateway(ScriptedModel("good"), anew, pending, BudgetLimits(tokens=100_000))
        assert not (await gate.complete(ASKED)).cached
    assert (cache_stats(place).entries, tokens(cache)) == (1, 1100 + 12)


async def test_what_is_measured_never_waits(place: Path, cache: CallCache) -> None:
    with closing(PendingCalls(place, stage="test", collect=True)) as pending:
        gate = gateway(ScriptedModel(), cache, pending, BudgetLimits(tokens=100_000))
        with pytest.raises(NotOffered):
            await gate.complete(Request("final", ASKED.messages, measure="likelihood"))
    assert listed(place) == 0


def test_waiting_calls_move_and_an_answer_is_never_lost(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    assert copy_pending(place, target) == 0
    store = PendingStore(place)
    for n in range(2):
        stage = PendingCalls(place, stage="answer", collect=True)
        with pytest.raises(CallsPending):
            stage.reply("verbalized", TARGET, {"n": n})
    store.put_batch(Batch(name="one", target=TARGET, size=1))
    assert copy_pending(place, target) == 2
    assert copy_pending(place, target) == 0
    first, _ = store.calls()
    answered = first.model_copy(update={"reply": BatchReply(text="yes")})
    store.put(answered)
    assert copy_pending(place, target) == 1
    there = PendingStore(target)
    assert there.call(first.id) == answered
    assert [batch.name for batch in there.batches()] == ["one"]
    assert copy_pending(target, place) == 0
