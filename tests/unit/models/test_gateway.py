from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue, ValidationError

from simulrag.calls import CallCache, cache_stats
from simulrag.errors import CacheError, InputError, ModelError
from simulrag.models.base import Message, ProviderReply, Request, Sampling
from simulrag.models.budget import Account, Budget, BudgetLimits
from simulrag.models.gateway import Gateway
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import Prompts
from simulrag.models.replies import Decomposition, Entailment
from simulrag.models.retry import RetryPolicy
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage

PROMPTS = Path(__file__).parents[3] / "prompts"
SETTINGS = ModelSettings(provider="scripted", model="m1")
CLAIM = '{"claims": [{"claim": "It rises."}]}'
ONCE = RetryPolicy(retries=0)
USED = Usage(input_tokens=10, output_tokens=2, cached_input_tokens=4)


class Scripted:
    """A provider that says its lines in order and remembers what it was sent."""

    name = "scripted"

    def __init__(self, *lines: str | Exception, delay_s: float = 0) -> None:
        self.lines = list(lines)
        self.delay_s = delay_s
        self.sent: list[tuple[Message, ...]] = []
        self.schemas: list[dict[str, JsonValue] | None] = []
        self.under_way = 0
        self.most_under_way = 0
        self.closed = False

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        self.sent.append(tuple(messages))
        self.schemas.append(schema)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(self.delay_s)
        self.under_way -= 1
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return ProviderReply(text=line, usage=USED, model_version="m1-2026")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache", stage="test") as opened:
        yield opened


def gateway(provider: Scripted, cache: CallCache, **options: Any) -> Gateway:
    return Gateway(provider, SETTINGS, cache, Prompts(PROMPTS), **options)


def decompose(check: Callable[[Any], None] | None = None, sample_index: int = 0) -> Request:
    return Request(
        task="decompose",
        messages=(Message(role="user", content="Split: it rises."),),
        schema=Decomposition,
        check=check,
        sample_index=sample_index,
    )


async def test_a_call_is_paid_once(cache: CallCache, tmp_path: Path) -> None:
    provider = Scripted(CLAIM)
    gate = gateway(provider, cache)
    first = await gate.complete(decompose())
    second = await gate.complete(decompose())
    assert first.parsed.claims[0].claim == "It rises."
    assert (first.cached, second.cached) == (False, True)
    assert second.parsed == first.parsed
    assert second.model_version == "m1-2026"
    used = Usage(calls=1, input_tokens=10, output_tokens=2, cached_input_tokens=4)
    assert second.usage == first.usage == used
    assert gate.usage == {"decompose": used + used}
    assert gate.paid == {"decompose": used}
    assert len(provider.sent) == 1
    (times,) = cache_stats(tmp_path / "cache").times
    # The stored call says again how long it took.
    assert gate.seconds == {"decompose": pytest.approx(2 * times.total_s)}


async def test_each_sample_is_a_call_of_its_own(cache: CallCache) -> None:
    gate = gateway(Scripted(CLAIM, CLAIM), cache)
    await asyncio.gather(*(gate.complete(decompose(sample_index=index)) for index in (0, 1, 0)))
    assert gate.paid["decompose"].calls == 2
    assert gate.usage["decompose"].calls == 3


def test_the_key_holds_what_changes_the_reply_and_nothing_else(cache: CallCache) -> None:
    gate = gateway(Scripted(), cache)
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
    elsewhere = Gateway(Scripted(), moved, cache, Prompts(PROMPTS))
    assert elsewhere.key(decompose()) == key
    asked = SETTINGS.model_copy(update={"api": "chat", "structured": "output_format"})
    other = Gateway(Scripted(), asked, cache, Prompts(PROMPTS)).key(decompose())
    assert other == {**key, "api": "chat", "structured": "output_format"}


def test_a_provider_that_has_no_price_under_its_identity_is_refused(cache: CallCache) -> None:
    provider = Scripted()
    provider.identity = "weights-1"  # type: ignore[attr-defined]
    name = (SETTINGS.provider, SETTINGS.endpoint, SETTINGS.model)
    account = Account(cache.ledger(), PriceTable())
    budget = Budget(BudgetLimits(tokens=1000), account, name)
    with pytest.raises(InputError, match="costs money and has an identity"):
        gateway(provider, cache, budget=budget)


async def test_an_invalid_reply_is_mended_once(cache: CallCache) -> None:
    provider = Scripted('{"claims": "it rises"}', CLAIM)
    gate = gateway(provider, cache)
    completion = await gate.complete(decompose())
    request, bad, repair = provider.sent[1]
    assert request == provider.sent[0][0]
    assert bad == Message(role="assistant", content='{"claims": "it rises"}')
    assert repair.role == "user"
    assert "claims: Input should be a valid array" in repair.content
    assert completion.text == CLAIM
    assert completion.usage == Usage(
        calls=2, input_tokens=20, output_tokens=4, cached_input_tokens=8
    )
    again = await gate.complete(decompose())
    assert again.cached
    assert again.usage == completion.usage
    assert len(provider.sent) == 2


async def test_two_invalid_replies_are_an_error_and_nothing_is_stored(cache: CallCache) -> None:
    provider = Scripted('{"claims": "a"}', '{"claims": [', CLAIM)
    gate = gateway(provider, cache)
    with pytest.raises(ModelError, match=r"'decompose'.*valid array.*cut off") as caught:
        await gate.complete(decompose())
    assert caught.value.kind == "invalid_reply"
    assert gate.usage == {}
    assert gate.paid["decompose"].calls == 2
    assert (await gate.complete(decompose())).cached is False


def at_most_one_claim(reply: Decomposition) -> None:
    if len(reply.claims) > 1:
        raise ValueError("more than one claim")


async def test_a_check_is_part_of_being_valid(cache: CallCache) -> None:
    two = '{"claims": [{"claim": "a"}, {"claim": "b"}]}'
    provider = Scripted(two, CLAIM)
    completion = await gateway(provider, cache).complete(decompose(at_most_one_claim))
    assert completion.text == CLAIM
    assert "more than one claim" in provider.sent[1][-1].content


async def test_a_stored_reply_that_no_longer_validates_is_a_cache_error(cache: CallCache) -> None:
    two = '{"claims": [{"claim": "a"}, {"claim": "b"}]}'
    gate = gateway(Scripted(two), cache)
    await gate.complete(decompose())
    with pytest.raises(CacheError, match=r"'decompose'.*more than one claim.*refresh"):
        await gate.complete(decompose(at_most_one_claim))


async def test_a_list_of_the_wrong_length_goes_through_the_check(cache: CallCache) -> None:
    def two_booleans(reply: Entailment) -> None:
        if len(reply.supported) != 2:
            raise ValueError("expected 2 booleans")

    provider = Scripted('{"supported": [true]}', '{"supported": [true, false, true]}')
    with pytest.raises(ModelError, match="expected 2 booleans"):
        await gateway(provider, cache).ask(
            "entailment", Entailment, check=two_booleans, answer="It rises.", claims=["a", "b"]
        )


async def test_empty_free_text_is_asked_for_again(cache: CallCache) -> None:
    provider = Scripted("  \n", " It rises.\n")
    completion = await gateway(provider, cache).ask("closed_book", question="What happens?")
    assert completion.text == "It rises."
    assert completion.parsed is None
    assert provider.schemas == [None, None]
    # An empty message is refused by providers, so it is not quoted.
    assert [message.role for message in provider.sent[1]] == ["system", "user", "user"]


async def test_a_providers_error_names_the_task_and_keeps_its_kind(cache: CallCache) -> None:
    gate = gateway(Scripted(ModelError("too busy", kind="unavailable"), CLAIM), cache, retry=ONCE)
    with pytest.raises(ModelError, match="'decompose': too busy") as caught:
        await gate.complete(decompose())
    assert caught.value.kind == "unavailable"
    assert (await gate.complete(decompose())).text == CLAIM


async def test_an_attempt_has_a_deadline(cache: CallCache) -> None:
    gate = gateway(Scripted(CLAIM, delay_s=5), cache, timeout_s=0.02, retry=ONCE)
    with pytest.raises(ModelError, match=r"scripted:m1 within 0\.02 s") as caught:
        await gate.complete(decompose())
    assert caught.value.kind == "timeout"


async def test_concurrency_is_bounded(cache: CallCache) -> None:
    provider = Scripted(*[CLAIM] * 9, delay_s=0.01)
    gate = gateway(provider, cache, concurrency=3)
    await asyncio.gather(*(gate.complete(decompose(sample_index=index)) for index in range(9)))
    assert provider.most_under_way == 3


async def test_closing_closes_the_provider(cache: CallCache) -> None:
    provider = Scripted()
    await gateway(provider, cache).close()
    assert provider.closed


def test_a_tasks_sampling_goes_over_the_general_one() -> None:
    settings = ModelSettings.model_validate(
        {
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
        {"model": ""},
        {"model": "m", "temprature": 1},
        {"model": "m", "sampling": {"temperature": 3}},
        {"model": "m", "endpoint": "http://host:1/v1"},
        {"model": "m", "provider": "openai", "base_url": "host:1/v1"},
        {"model": "m", "provider": "openai", "base_url": "https://user:pass@host/v1"},
        {"model": "m", "base_url": "http://127.0.0.1:1/v1"},
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
    settings = ModelSettings.model_validate({"model": "m", "tasks": {"verfy": {"seed": 1}}})
    with pytest.raises(InputError, match=r"'verfy'; there are: .*verbalized, verify"):
        Gateway(Scripted(), settings, cache, Prompts(PROMPTS))
