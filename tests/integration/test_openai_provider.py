"""The official SDK, unpatched, against a real server on 127.0.0.1."""

from __future__ import annotations

import logging
import re
import socket
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import polars as pl
import pytest

from simulrag.calls import CallCache
from simulrag.errors import EnvironmentFault, InputError, ModelError, SimulRAGError
from simulrag.models.base import Message, Sampling
from simulrag.models.providers.credentials import NO_KEY
from simulrag.models.gateway import Gateway
from simulrag.models.providers.openai import OFFICIAL_URL, OpenAIProvider
from simulrag.models.parsing import reply_schema
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import Boundary, Decomposition, ToolCalls, Verbalized
from simulrag.models.retry import RetryPolicy
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.testing.loopback import (
    CUT_OFF,
    FILTERED,
    HANG,
    MODEL_VERSION,
    NO_CHOICES,
    NO_JSON_BODY,
    RESET,
    Act,
    LoopbackServer,
    canned,
    fails,
    refuses,
    says,
)

PROMPTS = Path(__file__).parents[2] / "prompts"
KEY = "sk-planted-4f1d9b7c2e"
KEY_VARIABLE = "LOOPBACK_KEY"
ONCE = RetryPolicy(retries=0)
MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="Well?"))
ANSWERS = canned(
    {
        None: "It rises by 12 %.",
        "Decomposition": '{"claims": [{"claim": "It rises by 12 %."}]}',
        "Boundary": '{"tool_confidence": 1}',
        "ToolCalls": '{"calls": []}',
        "Verbalized": '{"probability": 0.5}',
    }
)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(ANSWERS) as running:
        yield running


@pytest.fixture(autouse=True)
def planted_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def settings(server: LoopbackServer, **more: object) -> ModelSettings:
    return ModelSettings.model_validate(
        {
            "provider": "openai",
            "model": "gpt-test",
            "base_url": server.url,
            "api_key_env": KEY_VARIABLE,
            **more,
        }
    )


@pytest.fixture
async def provider(server: LoopbackServer) -> AsyncIterator[OpenAIProvider]:
    made = OpenAIProvider(settings(server))
    yield made
    await made.close()


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache", stage="test") as opened:
        yield opened


@pytest.fixture
async def gateway(server: LoopbackServer, cache: CallCache) -> AsyncIterator[Gateway]:
    chosen = settings(server)
    prompts = Prompts(PROMPTS)
    made = Gateway(make_provider(chosen), chosen, cache, prompts, timeout_s=20, retry=ONCE)
    yield made
    await made.close()


async def failure(provider: OpenAIProvider) -> SimulRAGError:
    with pytest.raises(SimulRAGError) as caught:
        await provider.call(MESSAGES, None, Sampling(), 0)
    return caught.value


async def test_free_text(server: LoopbackServer, provider: OpenAIProvider) -> None:
    reply = await provider.call(MESSAGES, None, Sampling(), 0)
    assert reply.text == "It rises by 12 %."
    assert reply.model_version == MODEL_VERSION
    assert reply.usage == Usage(calls=1, input_tokens=3, output_tokens=5)
    (request,) = server.requests
    assert request.body == {
        "model": "gpt-test",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Well?"},
        ],
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-stainless-lang"] == "python"


async def test_a_closed_schema_is_sent_strict(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    await provider.call(MESSAGES, reply_schema(Boundary), Sampling(), 0)
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "Boundary",
            "strict": True,
            "schema": {
                "title": "Boundary",
                "type": "object",
                "additionalProperties": False,
                "properties": {"tool_confidence": {"type": "integer", "minimum": 0, "maximum": 1}},
                "required": ["tool_confidence"],
            },
        },
    }


async def test_an_open_schema_is_sent_as_it_is(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    await provider.call(MESSAGES, reply_schema(ToolCalls), Sampling(), 0)
    wanted = server.requests[0].body["response_format"]["json_schema"]
    assert wanted["strict"] is False
    assert wanted["schema"] == reply_schema(ToolCalls)


async def test_sampling_is_sent_where_it_is_set(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    sampling = Sampling(temperature=0.0, top_p=0.9, max_output_tokens=50, seed=10)
    await provider.call(MESSAGES, None, sampling, 3)
    body = server.requests[0].body
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.0, 0.9, 50)
    # One seed for all samples would make diverse answers alike.
    assert body["seed"] == 13


async def test_cached_tokens_are_counted(server: LoopbackServer, provider: OpenAIProvider) -> None:
    counts = {
        "prompt_tokens": 900,
        "completion_tokens": 7,
        "total_tokens": 907,
        "prompt_tokens_details": {"cached_tokens": 768},
    }
    server.script(Act(text="Yes.", usage=counts))
    reply = await provider.call(MESSAGES, None, Sampling(), 0)
    assert reply.usage == Usage(calls=1, input_tokens=900, output_tokens=7, cached_input_tokens=768)


async def test_servers_without_usage_details(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    server.script(Act(text="Yes.", usage={}))
    reply = await provider.call(MESSAGES, None, Sampling(), 0)
    assert reply.usage == Usage(calls=1)


@pytest.mark.parametrize(
    ("act", "kind", "why"),
    [
        (fails(500), "unavailable", r"failed \(500\): .*out of order"),
        (fails(503), "unavailable", r"failed \(503\)"),
        (fails(429, "slow down", retry_after="1"), "unavailable", r"rate limit.*\(429\)"),
        (fails(400, "context length exceeded"), "refused", r"refused the request \(400\): .*con"),
        (RESET, "unavailable", "no connection to http://127"),
        (NO_JSON_BODY, "unavailable", "no JSON"),
        (NO_CHOICES, "unavailable", "no choice"),
        (refuses("I will not."), "refused", "the model refused: I will not"),
        (FILTERED, "refused", "content filter"),
        (CUT_OFF, "truncated", "cut off"),
    ],
)
async def test_failures_are_typed_and_tried_once(
    server: LoopbackServer, provider: OpenAIProvider, act: Act, kind: str, why: str
) -> None:
    server.script(act)
    error = await failure(provider)
    assert isinstance(error, ModelError)
    assert error.kind == kind
    assert re.search(why, str(error))
    assert len(server.requests) == 1
    assert (await provider.call(MESSAGES, None, Sampling(), 0)).text == "It rises by 12 %."


async def test_a_server_that_is_down(unused_port: int) -> None:
    url = f"http://127.0.0.1:{unused_port}/v1"
    provider = OpenAIProvider(ModelSettings(provider="openai", model="m", base_url=url))
    error = await failure(provider)
    assert isinstance(error, ModelError)
    assert (error.kind, error.cause) == ("unavailable", "unreachable")
    assert url in str(error)
    await provider.close()


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    return port


async def test_what_the_provider_asks_to_wait_is_told(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    server.script(fails(429, "slow down", retry_after="7"), fails(503, retry_after="2"), RESET)
    told = []
    for _ in range(3):
        error = await failure(provider)
        assert isinstance(error, ModelError)
        told.append((error.cause, error.retry_after_s))
    assert told == [("throttled", 7.0), (None, 2.0), (None, None)]


async def test_an_account_without_credit_is_no_rate_limit(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    server.script(Act(kind="status", status=429, body=body))
    error = await failure(provider)
    assert isinstance(error, EnvironmentFault)
    assert "no credit" in str(error)


async def test_an_unknown_model_is_the_users_to_mend(
    server: LoopbackServer, provider: OpenAIProvider
) -> None:
    server.script(fails(404, "The model does not exist"))
    error = await failure(provider)
    assert isinstance(error, InputError)
    assert "'gpt-test'" in str(error)


async def test_a_hanging_server_meets_the_gateways_deadline(
    server: LoopbackServer, cache: CallCache
) -> None:
    server.script(HANG)
    chosen = settings(server)
    prompts = Prompts(PROMPTS)
    gateway = Gateway(make_provider(chosen), chosen, cache, prompts, timeout_s=0.3, retry=ONCE)
    with pytest.raises(ModelError, match=r"'closed_book': no reply .* within 0\.3 s") as caught:
        await gateway.ask("closed_book", question="What happens?")
    assert caught.value.kind == "timeout"
    await gateway.close()


async def test_a_spoilt_reply_is_repaired_over_the_wire(
    server: LoopbackServer, gateway: Gateway
) -> None:
    server.script(says('{"probability": "high"}'))
    completion = await gateway.ask("verbalized", Verbalized, question="Well?", claim="It rises.")
    assert completion.parsed.probability == 0.5
    assert completion.usage.calls == 2
    first, second = (request.body for request in server.requests)
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][2] == {"role": "assistant", "content": '{"probability": "high"}'}
    assert "probability: Input should be a valid number" in second["messages"][3]["content"]
    assert second["response_format"] == first["response_format"]


async def test_failures_are_paid_again_and_successes_are_not(
    server: LoopbackServer, gateway: Gateway
) -> None:
    server.script(fails(500), CUT_OFF, refuses())
    for kind in ("unavailable", "truncated", "refused"):
        with pytest.raises(ModelError) as caught:
            await gateway.ask("decompose", Decomposition, question="Q", answer="A", limit=12)
        assert caught.value.kind == kind
    for cached in (False, True, True):
        done = await gateway.ask("decompose", Decomposition, question="Q", answer="A", limit=12)
        assert done.cached is cached
    assert len(server.requests) == 4


async def test_a_missing_key_is_named(
    server: LoopbackServer, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    error = await failure(provider)
    assert isinstance(error, EnvironmentFault)
    assert KEY_VARIABLE in str(error)
    assert server.requests == []


async def test_openais_own_server_wants_the_usual_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    error = await failure(OpenAIProvider(ModelSettings(provider="openai", model="m")))
    assert isinstance(error, EnvironmentFault)
    assert "OPENAI_API_KEY" in str(error)
    assert OFFICIAL_URL in str(error)


async def test_the_usual_key_does_not_travel_to_other_servers(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    provider = OpenAIProvider(settings(server, api_key_env=None))
    await provider.call(MESSAGES, None, Sampling(), 0)
    assert server.requests[0].headers["authorization"] == f"Bearer {NO_KEY}"
    await provider.close()


async def test_what_is_stored_needs_no_key(
    server: LoopbackServer, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.ask("closed_book", question="What happens?")
    monkeypatch.delenv(KEY_VARIABLE)
    assert (await gateway.ask("closed_book", question="What happens?")).cached


async def test_the_key_is_nowhere_but_in_the_header(
    server: LoopbackServer,
    gateway: Gateway,
    cache: CallCache,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A server that quotes the key everywhere: in errors, refusals, replies and its version."""
    caplog.set_level(logging.DEBUG)
    provider = OpenAIProvider(settings(server))
    said: list[str] = []
    for act in (
        fails(401, f"Incorrect API key provided: {KEY}"),
        fails(403, f"{KEY} may not do that"),
        fails(404, f"no model for {KEY}"),
        fails(429, f"{KEY} is too fast"),
        fails(500, f"{KEY} broke it"),
        fails(400, f"{KEY} is bad"),
        refuses(f"{KEY}, I will not"),
        Act(kind="raw", text=f"not JSON {KEY}"),
    ):
        server.script(act)
        error = await failure(provider)
        said += traceback.format_exception(error)
        said.append(repr(error.__dict__))
    server.script(says(f"{KEY} is not JSON"), says(f"nor is {KEY}"))
    with pytest.raises(ModelError) as caught:
        await gateway.ask("boundary", Boundary, handbook="H", question="Q", claim="C")
    said += traceback.format_exception(caught.value)

    server.script(says(f"The key is {KEY}, it rises."))
    completion = await gateway.ask("closed_book", question="What happens?")
    assert completion.text == "The key is ***, it rises."
    cache.export(tmp_path / "calls.parquet")

    said += [repr(provider), str(vars(provider)), repr(gateway), str(vars(gateway)), caplog.text]
    await provider.close()
    assert KEY not in "\n".join(said)
    assert "The key is ***" in exported(tmp_path / "calls.parquet")
    assert KEY not in exported(tmp_path / "calls.parquet")
    assert KEY.encode() not in content_of(tmp_path)


def exported(path: Path) -> str:
    """Parquet is compressed: its bytes would hide what a reader sees."""
    return str(pl.read_parquet(path).to_dicts())


def content_of(directory: Path) -> bytes:
    content = b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())
    assert b"The key is ***" in content
    return content
