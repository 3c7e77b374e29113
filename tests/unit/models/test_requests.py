"""What goes over each wire, to the letter, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from simulrag.errors import InputError
from simulrag.method.retrieval import ToolCalls
from simulrag.method.verification import Boundary, Verbalized
from simulrag.models.base import Message, Sampling
from simulrag.models.providers.anthropic import DEFAULT_MAX_TOKENS
from simulrag.models.providers.registry import make_provider
from simulrag.models.providers.sdk import SdkProvider
from simulrag.models.replies import reply_schema
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import MODEL_VERSION, Act
from tests.unit.models.conftest import settings_of

MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="Well?"))
SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Well?"}]
SYSTEM = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]


async def test_free_text(server: LoopbackServer, provider: SdkProvider, wire: str) -> None:
    reply = await provider.call(MESSAGES, None, Sampling(), 0)
    assert reply.text == "It rises by 12 %."
    assert reply.model_version == MODEL_VERSION
    assert reply.usage == Usage(calls=1, input_tokens=3, output_tokens=5)
    (request,) = server.requests
    assert request.path == provider.path
    assert request.headers["x-stainless-lang"] == "python"
    assert request.body == {
        "chat": {"model": "m", "messages": SAID},
        "responses": {"model": "m", "input": SAID, "store": False},
        "anthropic": {
            "model": "m",
            "max_tokens": DEFAULT_MAX_TOKENS,
            "system": SYSTEM,
            "messages": SAID[1:],
        },
    }.get(wire)


SCHEMA = {
    "title": "Boundary",
    "type": "object",
    "additionalProperties": False,
    "properties": {"tool_confidence": {"type": "integer", "minimum": 0, "maximum": 1}},
    "required": ["tool_confidence"],
}
FORMAT = {"name": "Boundary", "strict": True, "schema": SCHEMA}
FORCED = {"type": "tool", "name": "Boundary", "disable_parallel_tool_use": True}


async def test_a_closed_schema(server: LoopbackServer, provider: SdkProvider, wire: str) -> None:
    reply = await provider.call(MESSAGES, reply_schema(Boundary), Sampling(), 0)
    assert Boundary.model_validate_json(reply.text) == Boundary(tool_confidence=1)
    body = server.requests[0].body
    wanted: dict[str, dict[str, Any]] = {
        "chat": {"response_format": {"type": "json_schema", "json_schema": FORMAT}},
        "responses": {"text": {"format": {"type": "json_schema", **FORMAT}}},
        "anthropic": {
            "tools": [{"name": "Boundary", "input_schema": SCHEMA}],
            "tool_choice": FORCED,
        },
    }
    assert {name: body[name] for name in wanted[wire]} == wanted[wire]


async def test_an_open_schema_is_sent_as_it_is(
    server: LoopbackServer, provider: SdkProvider, wire: str
) -> None:
    await provider.call(MESSAGES, reply_schema(ToolCalls), Sampling(), 0)
    body = server.requests[0].body
    if wire == "anthropic":
        assert body["tools"][0]["input_schema"] == reply_schema(ToolCalls)
        return
    sent = body["text"]["format"] if wire == "responses" else body["response_format"]["json_schema"]
    assert (sent["strict"], sent["schema"]) == (False, reply_schema(ToolCalls))


@pytest.mark.parametrize(
    ("wire", "sampling", "sent"),
    [
        (
            "chat",  # one seed for all samples would make diverse answers alike
            {"temperature": 0.0, "top_p": 0.9, "max_output_tokens": 50, "seed": 10},
            {"temperature": 0.0, "top_p": 0.9, "max_tokens": 50, "seed": 13},
        ),
        ("chat", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        (
            "responses",
            {"reasoning_effort": "low", "max_output_tokens": 900},
            {"reasoning": {"effort": "low"}, "max_output_tokens": 900},
        ),
        (
            "anthropic",
            {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 50},
            {"temperature": 0.5, "top_p": 0.9, "max_tokens": 50},
        ),
    ],
    indirect=["wire"],
)
async def test_sampling_is_sent_where_it_is_set(
    server: LoopbackServer, provider: SdkProvider, sampling: dict[str, Any], sent: dict[str, Any]
) -> None:
    await provider.call(MESSAGES, None, Sampling(**sampling), 3)
    body = server.requests[0].body
    assert {name: body.get(name) for name in sent} == sent


COUNTS = {
    "chat": {"prompt_tokens": 900, "completion_tokens": 7}
    | {"total_tokens": 907, "prompt_tokens_details": {"cached_tokens": 768}},
    "responses": {"input_tokens": 900, "output_tokens": 7, "total_tokens": 907}
    | {"input_tokens_details": {"cached_tokens": 768}},
    # Of this API, input_tokens are those that the prompt cache had nothing to do with.
    "anthropic": {"input_tokens": 32, "output_tokens": 7}
    | {"cache_creation_input_tokens": 100, "cache_read_input_tokens": 768},
}


async def test_cached_tokens_are_counted(
    server: LoopbackServer, provider: SdkProvider, wire: str
) -> None:
    server.script(Act(text="Yes.", usage=COUNTS[wire]))
    reply = await provider.call(MESSAGES, None, Sampling(), 0)
    written = 100 if wire == "anthropic" else 0
    assert reply.usage == Usage(
        calls=1,
        input_tokens=900,
        output_tokens=7,
        cached_input_tokens=768,
        cache_write_tokens=written,
    )


async def test_a_schema_by_output_format(server: LoopbackServer) -> None:
    """Closed objects by output_config, open ones as a tool that nothing forces."""
    thinks = {"structured": "output_format", "sampling": {"reasoning_effort": "low"}}
    made = make_provider(settings_of(server, "anthropic", api_key_env=None, **thinks))
    effort = Sampling(reasoning_effort="low")
    closed = await made.call(MESSAGES, reply_schema(Verbalized), effort, 0)
    opened = await made.call(MESSAGES, reply_schema(ToolCalls), effort, 0)
    await made.close()
    assert (closed.text, opened.text) == ('{"probability": 0.5}', '{"calls": []}')
    one, two = (request.body for request in server.requests)
    assert not {"tools", "tool_choice"} & one.keys()
    assert one["output_config"]["effort"] == two["output_config"]["effort"] == "low"
    sent = one["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["additionalProperties"] is False
    assert "maximum" not in sent["schema"]["properties"]["probability"]
    assert "format" not in two["output_config"]
    assert two["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


@pytest.mark.parametrize(
    ("provider", "field", "why"),
    [
        ("anthropic", {"seed": 1}, "leave it out"),
        ("anthropic", {"reasoning_effort": "low"}, "leave reasoning_effort out"),
        ("openai", {"seed": 1}, "takes no seed.*api: chat"),
    ],
)
def test_what_an_interface_does_not_take_is_refused(
    provider: str, field: dict[str, Any], why: str
) -> None:
    settings = ModelSettings(provider=provider, model="m", tasks={"label": Sampling(**field)})
    with pytest.raises(InputError, match=why):
        make_provider(settings)


def test_other_servers_are_asked_by_chat_completions(server: LoopbackServer) -> None:
    own = make_provider(settings_of(server, "chat", api="auto"))
    theirs = make_provider(ModelSettings(provider="openai", model="m"))
    assert isinstance(own, SdkProvider)
    assert isinstance(theirs, SdkProvider)
    assert (own.path, theirs.path) == ("/v1/chat/completions", "/v1/responses")
