"""Anthropic's SDK, unpatched, against a real server on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.providers.anthropic import DEFAULT_MAX_TOKENS, OFFICIAL_URL, AnthropicProvider
from simulrag.models.base import Message, Sampling
from simulrag.models.parsing import reply_schema
from simulrag.models.replies import ToolCalls, Verbalized
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.testing.loopback import Act, LoopbackServer, canned

MESSAGES = (
    Message(role="system", content="You know a handbook."),
    Message(role="user", content="Which tools?"),
    Message(role="assistant", content="None."),
    Message(role="user", content="Again."),
)
ANSWERS = canned(
    {None: "It rises.", "ToolCalls": '{"calls": []}', "Verbalized": '{"probability": 0.5}'}
)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(ANSWERS) as running:
        yield running


def provider(server: LoopbackServer, **more: object) -> AnthropicProvider:
    settings = {"provider": "anthropic", "model": "m", "base_url": server.url, **more}
    return AnthropicProvider(ModelSettings.model_validate(settings))


async def test_the_request(server: LoopbackServer) -> None:
    made = provider(server)
    reply = await made.call(MESSAGES, reply_schema(ToolCalls), Sampling(temperature=0.5), 2)
    await made.close()
    assert reply.text == '{"calls": []}'
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert request.body == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "temperature": 0.5,
        "system": [
            {
                "type": "text",
                "text": "You know a handbook.",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        "messages": [
            {"role": "user", "content": "Which tools?"},
            {"role": "assistant", "content": "None."},
            {"role": "user", "content": "Again."},
        ],
        "tools": [{"name": "ToolCalls", "input_schema": reply_schema(ToolCalls)}],
        "tool_choice": {"type": "tool", "name": "ToolCalls", "disable_parallel_tool_use": True},
    }


async def test_a_schema_by_output_format(server: LoopbackServer) -> None:
    """Closed objects by output_config, open ones as a tool that nothing forces."""
    made = provider(server, structured="output_format", sampling={"reasoning_effort": "low"})
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


async def test_cache_reads_and_writes_are_counted(server: LoopbackServer) -> None:
    counts = {
        "input_tokens": 40,
        "cache_creation_input_tokens": 1500,
        "cache_read_input_tokens": 2000,
        "output_tokens": 7,
    }
    server.script(Act(text="Yes.", usage=counts))
    made = provider(server)
    reply = await made.call(MESSAGES, None, Sampling(), 0)
    await made.close()
    assert reply.usage == Usage(
        calls=1,
        input_tokens=3540,
        output_tokens=7,
        cached_input_tokens=2000,
        cache_write_tokens=1500,
    )


@pytest.mark.parametrize("field", [{"seed": 1}, {"reasoning_effort": "low"}])
def test_what_the_api_does_not_take_is_refused(
    server: LoopbackServer, field: dict[str, object]
) -> None:
    with pytest.raises(InputError, match="leave"):
        provider(server, tasks={"closed_book": field})


async def test_the_usual_key_is_for_the_usual_server(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-4f1d9b7c2e")
    made = provider(server)
    await made.call(MESSAGES, None, Sampling(), 0)
    await made.close()
    assert server.requests[0].headers["authorization"] == "Bearer no-key-needed"
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    official = AnthropicProvider(ModelSettings(provider="anthropic", model="m"))
    with pytest.raises(EnvironmentFault, match=f"ANTHROPIC_API_KEY.*{OFFICIAL_URL}"):
        await official.call(MESSAGES, None, Sampling(), 0)
