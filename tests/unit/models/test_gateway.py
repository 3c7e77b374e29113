from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from simulrag.calls import CallCache, cache_stats
from simulrag.calls.inspection import read_calls
from simulrag.errors import (
    CacheError,
    InputError,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    NotStored,
    ProviderDown,
    ReplyInvalid,
    ReplyTruncated,
)
from simulrag.method.answering import CLOSED_BOOK
from simulrag.method.asking import together
from simulrag.method.claims import Decomposition
from simulrag.models.base import Message, ProviderReply, Request, Sampling
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.live import DOWN_AFTER
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Usage
from simulrag.testing import ScriptedModel

SETTINGS = ModelSettings(provider="scripted", model="m1")
CLAIM = '{"claims": [{"claim": "It rises."}]}'
USED = Usage(calls=1, input_tokens=10, output_tokens=2)


class Bound(ScriptedModel):
    """Its model's name may mean anything: it has an identity, and bears two calls at a time."""

    concurrency = 2

    @property
    def identity(self) -> str:
        return "weights-1"


def gateway(provider: ScriptedModel, cache: CallCache, **options: Any) -> Gateway:
    return Gateway(provider, SETTINGS, cache, packaged_prompts(), **options)


def decompose(check: Callable[[Any], None] | None = None, sample_index: int = 0) -> Request:
    return Request(
        task="decompose",
        messages=(Message(role="user", content="Split: it rises."),),
        schema=Decomposition,
        check=check,
        sample_index=sample_index,
    )


async def test_a_call_is_paid_once(cache: CallCache, tmp_path: Path) -> None:
    provider = ScriptedModel(CLAIM)
    gate = gateway(provider, cache)
    first = await gate.complete(decompose())
    second = await gate.complete(decompose())
    assert first.parsed.claims[0].claim == "It rises."
    assert (first.cached, second.cached) == (False, True)
    assert second.parsed == first.parsed
    assert second.model_version == "scripted-1"
    assert second.usage == first.usage == USED
    assert gate.usage == {"decompose": USED + USED}
    assert list(cache.used.values()) == ["decompose"]
    assert gate.paid == {"decompose": USED}
    assert len(provider.sent) == 1
    (times,) = cache_stats(tmp_path / "cache").times
    # The stored call says again how long it took.
    assert gate.seconds == {"decompose": pytest.approx(2 * times.total_s)}


async def test_the_wait_for_a_turn_is_not_of_the_call(cache: CallCache, tmp_path: Path) -> None:
    class Slow(ScriptedModel):
        async def call(self, *args: Any) -> ProviderReply:
            await asyncio.sleep(0.1)
            return await super().call(*args)

    gate = gateway(Slow(*[CLAIM] * 6), cache, concurrency=1)
    await together(gate.complete(decompose(sample_index=i)) for i in range(6))
    (times,) = cache_stats(tmp_path / "cache").times
    assert times.calls == 6
    assert 0.1 <= times.median_s <= times.slowest_s < 0.4
    assert (cache.made, cache.taken) == (6, 0)


def test_the_key_holds_what_changes_the_reply_and_nothing_else(cache: CallCache) -> None:
    gate = gateway(ScriptedModel(), cache)
    key = gate.key(decompose())
    assert sorted(key) == [
        "endpoint",
        "messages",
        "model",
        "provider",
        "sample_index",
        "sampling",
        "schema",
    ]
    assert "decompose" not in str(key)
    assert key["sampling"] == {}
    moved = SETTINGS.model_copy(update={"base_url": "http://elsewhere:1/v1", "api_key_env": "K"})
    elsewhere = Gateway(ScriptedModel(), moved, cache, packaged_prompts())
    assert elsewhere.key(decompose()) == key
    asked = SETTINGS.model_copy(update={"api": "chat", "structured": "output_format"})
    other = Gateway(ScriptedModel(), asked, cache, packaged_prompts()).key(decompose())
    assert other == {**key, "api": "chat", "structured": "output_format"}


async def test_an_identity_stands_for_the_model_and_has_no_price(cache: CallCache) -> None:
    assert gateway(Bound(), cache).key(decompose())["model"] == "weights-1"
    name = (SETTINGS.provider, SETTINGS.endpoint, SETTINGS.model)
    budget = Budget(BudgetLimits(tokens=1000), Account(cache.ledger(), PriceTable()), name)
    with pytest.raises(InputError, match="costs money and has an identity"):
        gateway(Bound(), cache, budget=budget)


async def test_an_invalid_reply_is_mended_once(cache: CallCache) -> None:
    provider = ScriptedModel('{"claims": "it rises"}', CLAIM)
    gate = gateway(provider, cache)
    completion = await gate.complete(decompose())
    request, bad, repair = provider.sent[1]
    assert request == provider.sent[0][0]
    assert bad == Message(role="assistant", content='{"claims": "it rises"}')
    assert repair.role == "user"
    assert "claims: Input should be a valid array" in repair.content
    assert completion.text == CLAIM
    assert completion.usage == Usage(calls=2, input_tokens=20, output_tokens=4)
    again = await gate.complete(decompose())
    assert again.cached
    assert again.usage == completion.usage
    assert len(provider.sent) == 2


async def test_a_repair_quotes_no_megabyte(cache: CallCache) -> None:
    provider = ScriptedModel("x" * 10**6, CLAIM)
    assert (await gateway(provider, cache).complete(decompose())).text == CLAIM
    assert len(provider.sent[1][-2].content) == 20_000


async def test_two_invalid_replies_are_an_error_and_nothing_is_stored(cache: CallCache) -> None:
    provider = ScriptedModel('{"claims": "a"}', '{"claims": [', CLAIM)
    gate = gateway(provider, cache)
    with pytest.raises(ReplyInvalid, match=r"'decompose'.*valid array.*cut off"):
        await gate.complete(decompose())
    assert gate.usage == {}
    assert gate.paid["decompose"].calls == 2
    assert (await gate.complete(decompose())).cached is False


def at_most_one_claim(reply: Decomposition) -> None:
    if len(reply.claims) > 1:
        raise ValueError("more than one claim")


async def test_a_check_is_part_of_being_valid(cache: CallCache) -> None:
    two = '{"claims": [{"claim": "a"}, {"claim": "b"}]}'
    provider = ScriptedModel(two, CLAIM)
    completion = await gateway(provider, cache).complete(decompose(at_most_one_claim))
    assert completion.text == CLAIM
    assert "more than one claim" in provider.sent[1][-1].content


async def test_altered_usage_of_a_stored_reply_is_a_cache_error(cache: CallCache) -> None:
    gate = gateway(ScriptedModel(CLAIM), cache)
    await gate.complete(decompose())
    (stored,) = read_calls(cache.place)
    row = f"call/{stored.key}"
    cache._store.put({row: str(cache._store.get(row)).replace('"calls":1', '"calls":-1')})
    with pytest.raises(CacheError, match=r"calls: Input should be.*verify.*refresh"):
        await gate.complete(decompose())


async def test_a_stored_reply_that_no_longer_validates_is_a_cache_error(cache: CallCache) -> None:
    two = '{"claims": [{"claim": "a"}, {"claim": "b"}]}'
    gate = gateway(ScriptedModel(two), cache)
    await gate.complete(decompose())
    with pytest.raises(CacheError, match=r"'decompose'.*more than one claim.*refresh"):
        await gate.complete(decompose(at_most_one_claim))


async def test_empty_free_text_is_asked_for_again(cache: CallCache) -> None:
    provider = ScriptedModel("  \n", " It rises.\n")
    completion = await gateway(provider, cache).ask(CLOSED_BOOK, question="What happens?")
    assert completion.text == "It rises."
    assert completion.parsed is None
    assert provider.schemas == [None, None]
    # An empty message is refused by providers, so it is not quoted.
    assert [message.role for message in provider.sent[1]] == ["system", "user", "user"]


async def test_a_providers_error_names_the_task_and_keeps_its_class(cache: CallCache) -> None:
    billed = ReplyTruncated("cut off", usage=USED)
    gate = gateway(ScriptedModel(ModelUnavailable("too busy"), billed, CLAIM), cache)
    with pytest.raises(ModelUnavailable, match="'decompose': too busy"):
        await gate.complete(decompose())
    with pytest.raises(ReplyTruncated, match="'decompose': cut off"):
        await gate.complete(decompose())
    assert gate.paid == {"decompose": USED}
    assert (await gate.complete(decompose())).text == CLAIM


async def test_a_call_has_a_deadline(cache: CallCache) -> None:
    gate = gateway(ScriptedModel(CLAIM, delay_s=5), cache, timeout_s=0.02)
    with pytest.raises(ModelTimeout, match=r"no reply from scripted:m1 within 0\.02 s"):
        await gate.complete(decompose())
    assert gate.failures == {"timeout": 1}


async def test_when_nobody_is_answered_the_provider_is_down_for_all(cache: CallCache) -> None:
    busy = [ModelUnavailable(f"busy {i}") for i in range(DOWN_AFTER)]
    provider = ScriptedModel(*busy, CLAIM)
    gate = gateway(provider, cache, concurrency=1)
    calls = (gate.complete(decompose(sample_index=i)) for i in range(DOWN_AFTER + 2))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [
        *[ModelUnavailable] * (DOWN_AFTER - 1),
        *[ProviderDown] * 3,
    ]
    assert "is down" in str(results[-1])
    assert "busy 2. Everything paid for is kept" in str(results[-1])
    assert len(provider.sent) == DOWN_AFTER  # nobody asks it after that


async def test_one_call_is_given_up_where_others_come_through(cache: CallCache) -> None:
    lines = [ModelUnavailable("busy"), CLAIM] * (DOWN_AFTER + 1)
    gate = gateway(ScriptedModel(*lines), cache, concurrency=1)
    calls = (gate.complete(decompose(sample_index=i)) for i in range(len(lines)))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, ModelUnavailable) for result in results) == DOWN_AFTER + 1


async def test_one_call_is_enough_where_no_connection_is_made(cache: CallCache) -> None:
    with pytest.raises(ProviderDown, match="no connection"):
        await gateway(ScriptedModel(ModelUnreachable("no connection")), cache).complete(decompose())


async def test_what_is_only_replayed_is_never_called(cache: CallCache) -> None:
    await gateway(ScriptedModel(CLAIM), cache).complete(decompose())
    settings = SETTINGS.model_copy(update={"replay": True})
    provider = ScriptedModel(CLAIM, settings=settings)
    gate = Gateway(provider, settings, cache, packaged_prompts())
    assert (await gate.complete(decompose())).cached
    with pytest.raises(NotStored, match=r"'decompose' of scripted:m1.*simulrag use.*batch files"):
        await gate.complete(decompose(sample_index=1))
    assert provider.sent == []
    assert not provider.paid


async def test_concurrency_is_bounded(cache: CallCache) -> None:
    provider = ScriptedModel(*[CLAIM] * 9, delay_s=0.01)
    gate = gateway(provider, cache, concurrency=3)
    await asyncio.gather(*(gate.complete(decompose(sample_index=index)) for index in range(9)))
    assert provider.most_under_way == 3
    few = Bound(*[CLAIM] * 9, delay_s=0.01)
    gate = gateway(few, cache, concurrency=3)
    await asyncio.gather(*(gate.complete(decompose(sample_index=index)) for index in range(9)))
    assert few.most_under_way == 2


async def test_closing_closes_the_provider(cache: CallCache) -> None:
    provider = ScriptedModel()
    await gateway(provider, cache).close()
    assert provider.closed


def test_a_tasks_sampling_goes_over_the_general_one() -> None:
    settings = ModelSettings.model_validate(
        {
            "provider": "openai",
            "model": "m1",
            "sampling": {"temperature": 0.0, "seed": 7},
            "tasks": {"closed_book": {"temperature": 1.0}, "label": {"seed": None}},
        }
    )
    assert settings.sampling_of("verify") == Sampling(temperature=0.0, seed=7)
    assert settings.sampling_of("closed_book") == Sampling(temperature=1.0, seed=7)
    assert settings.sampling_of("label") == Sampling(temperature=0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "m"},
        {"provider": "openai", "model": ""},
        {"provider": "openai", "model": "m", "temprature": 1},
        {"provider": "openai", "model": "m", "sampling": {"temperature": 3}},
        {"provider": "openai", "model": "m", "endpoint": "http://host:1/v1"},
        {"model": "m", "provider": "openai", "base_url": "host:1/v1"},
        {"model": "m", "provider": "openai", "base_url": "https://user:pass@host/v1"},
        {"provider": "openai", "model": "m", "replay": True, "base_url": "http://127.0.0.1:1/v1"},
        {"provider": "openai", "model": "m", "replay": True, "paid": False},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings.model_validate(wrong)


class Section(BaseModel):
    """params.yaml, as far as its loader's errors go."""

    answer: ModelSettings


def test_a_key_pasted_for_its_name_is_not_repeated() -> None:
    pasted = {"provider": "openai", "model": "m", "api_key_env": "sk-planted-0123456789"}
    with pytest.raises(ValidationError) as caught:
        ModelSettings.model_validate(pasted)
    assert "not the key itself" in str(caught.value)
    assert "planted" not in str(caught.value)
    with pytest.raises(ValidationError) as caught:
        Section.model_validate({"answer": pasted})
    (problem,) = caught.value.errors()
    # A loader may show an input that is text; this one is the whole section.
    assert not isinstance(problem["input"], str)
    assert "planted" not in problem["msg"]


def test_an_override_of_an_unknown_task_is_refused(cache: CallCache) -> None:
    settings = ModelSettings(provider="openai", model="m", tasks={"verfy": Sampling(seed=1)})
    with pytest.raises(InputError, match=r"'verfy'; there are: .*verbalized, .*verify"):
        Gateway(ScriptedModel(), settings, cache, packaged_prompts())
