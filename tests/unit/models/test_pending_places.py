"""Calls that wait for a batch, beside the cache in either place."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulrag.calls import CachePlace, cache_stats, parse_place
from simulrag.errors import CallsPending, EnvironmentFault
from simulrag.models.pending import (
    Batch,
    BatchReply,
    PendingCalls,
    PendingStore,
    Target,
    copy_pending,
)
from tests.servers.places import place, redis_place, redis_program
from tests.servers.redis_server import RedisProgram, needs_redis

__all__ = ["place", "redis_place", "redis_program"]

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
    if isinstance(place, Path):
        assert (place / "pending" / "cache.db").is_file()
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


def test_waiting_calls_leave_a_redis_that_may_lose_them(tmp_path: Path) -> None:
    needs_redis()
    with RedisProgram(tmp_path / "redis") as program:
        place = parse_place(program.place())
        with pytest.raises(CallsPending):
            PendingCalls(place, stage="a", collect=True).reply("verbalized", TARGET, {"n": 1})
        program.kill()
        program.settings["appendfsync"] = "everysec"
        program.start()
        with pytest.raises(EnvironmentFault, match="may lose"):
            PendingStore(place)
        assert copy_pending(place, tmp_path / "target") == 1
