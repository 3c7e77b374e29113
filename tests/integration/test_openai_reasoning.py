"""Reasoning models and the Responses API, by the official SDK over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from simulrag.calls import CallCache
from simulrag.errors import InputError
from simulrag.models.base import Message, Request, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.providers.openai import OpenAIProvider
from simulrag.models.parsing import reply_schema
from simulrag.models.prompts import Prompts
from simulrag.models.replies import Boundary
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.testing.loopback import Act, LoopbackServer, canned

PROMPTS = Path(__file__).parents[2] / "prompts"
MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="Well?"))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(canned({None: "Yes.", "Boundary": '{"tool_confidence": 0}'})) as running:
        yield running


def settings(server: LoopbackServer, api: Literal["auto", "chat", "responses"]) -> ModelSettings:
    return ModelSettings(provider="openai", model="m", base_url=server.url, api=api)


async def test_the_request_of_the_responses_api(server: LoopbackServer) -> None:
    made = OpenAIProvider(settings(server, "responses"))
    sampling = Sampling(reasoning_effort="low", max_output_tokens=900)
    await made.call(MESSAGES, reply_schema(Boundary), sampling, 0)
    await made.close()
    (request,) = server.requests
    assert request.path == "/v1/responses"
    assert request.body == {
        "model": "m",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Well?"},
        ],
        "store": False,
        "reasoning": {"effort": "low"},
        "max_output_tokens": 900,
        "text": {
            "format": {
                "type": "json_schema",
                "name": "Boundary",
                "strict": True,
                "schema": reply_schema(Boundary),
            }
        },
    }


async def test_cached_tokens_of_the_responses_api(server: LoopbackServer) -> None:
    counts = {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 768},
        "output_tokens": 70,
        "output_tokens_details": {"reasoning_tokens": 64},
        "total_tokens": 970,
    }
    server.script(Act(text="Yes.", usage=counts))
    made = OpenAIProvider(settings(server, "responses"))
    reply = await made.call(MESSAGES, None, Sampling(), 0)
    await made.close()
    assert reply.usage == Usage(
        calls=1, input_tokens=900, output_tokens=70, cached_input_tokens=768
    )


async def test_other_servers_are_asked_by_chat_completions(server: LoopbackServer) -> None:
    made = OpenAIProvider(settings(server, "auto"))
    await made.call(MESSAGES, None, Sampling(reasoning_effort="high"), 0)
    await made.close()
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body["reasoning_effort"] == "high"


async def test_a_model_that_takes_no_temperature_is_told_of_at_once(
    server: LoopbackServer,
) -> None:
    error = {
        "message": "Unsupported value: 'temperature' does not support 0.0 with this model.",
        "type": "invalid_request_error",
        "param": "temperature",
        "code": "unsupported_value",
    }
    server.script(Act(kind="status", status=400, body={"error": error}))
    made = OpenAIProvider(settings(server, "chat"))
    with pytest.raises(InputError, match=r"'m' does not take temperature.*leave out"):
        await made.call(MESSAGES, None, Sampling(temperature=0.0), 0)
    await made.close()


def test_a_seed_that_would_not_be_sent_is_refused() -> None:
    with pytest.raises(InputError, match=r"takes no seed.*api: chat"):
        OpenAIProvider(ModelSettings(provider="openai", model="m", sampling=Sampling(seed=1)))
    chosen = ModelSettings(provider="openai", model="m", api="chat", sampling=Sampling(seed=1))
    assert OpenAIProvider(chosen).name == "openai"


def test_effort_is_in_the_key_where_it_is_set_alone(server: LoopbackServer, tmp_path: Path) -> None:
    chosen = settings(server, "responses")
    with CallCache(tmp_path / "cache", stage="test") as cache:
        gateway = Gateway(OpenAIProvider(chosen), chosen, cache, Prompts(PROMPTS))
        plain = gateway.key(Request(task="boundary", messages=MESSAGES))
        thinking = Sampling(reasoning_effort="low")
        assert plain["sampling"] == {}
        key = gateway.key(Request(task="boundary", messages=MESSAGES, sampling=thinking))
    assert key["sampling"] == {"reasoning_effort": "low"}
