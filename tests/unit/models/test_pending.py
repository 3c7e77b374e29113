"""Calls that wait for a batch, beside the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulrag.calls import CachePlace, cache_stats
from simulrag.errors import CallsPending
from simulrag.models.pending import (
    Batch,
    BatchReply,
    PendingCalls,
    PendingStore,
    Target,
    copy_pending,
)


@pytest.fixture
def place(tmp_path: Path) -> CachePlace:
    return tmp_path / "calls"


TARGET = Target(provider="openai", endpoint="default", model="m")


def test_a_call_waits_and_is_answered_by_another_process(place: CachePlace) -> None:
    request = {"provider": "openai", "model": "m", "messages": ["q"]}
    assert not PendingStore.exists(place)
    stage = PendingCalls(place, stage="answer", collect=True)
    with pytest.raises(CallsPending):
        stage.reply("verbalized", TARGET, request)
    assert PendingStore.exists(place)
    store = PendingStore(place)
    (call,) = store.calls()
    assert (call.request, call.waiting) == (request, True)
    batch = Batch(name="one", target=TARGET, size=1)
    store.put_batch(batch)
    assert store.batches() == [batch]
    store.put(call.model_copy(update={"reply": BatchReply(text="yes")}))
    reply = stage.reply("verbalized", TARGET, request)
    assert reply is not None
    assert reply.text == "yes"
    stage.forget([request])
    assert list(store.calls()) == []
    store.remove_batch("one")
    assert cache_stats(place).entries == 0  # no part of the cache itself
    stage.close()
    store.close()


def test_waiting_calls_move_and_an_answer_is_never_lost(place: CachePlace, tmp_path: Path) -> None:
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
