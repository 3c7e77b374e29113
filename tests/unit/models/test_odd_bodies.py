"""Compatible servers send anything: each odd body is a typed fault, and none a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulrag.errors import InputError, ModelError, ReplyRefused
from simulrag.method.verification import Verbalized
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import InvalidReply, parse_reply, reply_schema
from simulrag.testing import LoopbackServer, canned
from simulrag.testing.loopback import Act
from tests.unit.models.conftest import KEY, KEY_VARIABLE, settings_of

GOOD = '{"probability": 0.5}'


def chat(**changes: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": GOOD},
    }
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]} | changes


def message(content: object) -> dict[str, Any]:
    return chat(choices=[{"message": {"role": "assistant", "content": content}}])


HTML = "<html><body>502 Bad Gateway</body></html>"
COMMON: list[object] = [None, [], {}, 7, "text", [None], HTML]
CHAT: list[object] = [
    chat(choices=None),
    chat(choices={}),
    chat(choices={"0": {}}),
    chat(choices="none"),
    chat(choices=[None]),
    chat(choices=[7]),
    chat(choices=[{"message": None}]),
    chat(choices=[{"message": "text"}]),
    message([{"type": "text", "text": GOOD}]),
    message({"text": GOOD}),
    message(7),
]
RESPONSES: list[object] = [
    {"output": None},
    {"output": {}},
    {"output": [None], "status": "completed"},
    {"output": [{"type": "message", "content": 7}]},
    {"output": [{"type": "message", "content": [{"type": "output_text", "text": None}]}]},
    {"output": [{"type": "message", "content": [{"type": "refusal"}]}]},
]
MESSAGES: list[object] = [
    {"content": None},
    {"content": "text"},
    {"content": [None]},
    {"content": [7]},
    {"content": [{"text": "no type"}]},
    {"content": [{"type": "text", "text": None}]},
]


async def asked(act: Act, wire: str = "chat") -> ProviderReply:
    with LoopbackServer(canned({"Verbalized": GOOD}), [act]) as server:
        made = make_provider(settings_of(server, wire))
        try:
            asking = (Message(role="user", content="Well?"),)
            return await made.call(asking, reply_schema(Verbalized), Sampling(temperature=0.0), 0)
        finally:
            await made.close()


@pytest.fixture(autouse=True)
def planted_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        *(("chat", body) for body in [*COMMON, *CHAT]),
        *(("responses", body) for body in [*COMMON, *RESPONSES]),
        *(("anthropic", body) for body in [*COMMON, *MESSAGES]),
    ],
)
async def test_an_odd_body_is_a_typed_fault(wire: str, body: object) -> None:
    """What is empty or no JSON is sent back to the model, as from every server."""
    raw = body if body is HTML else json.dumps(body)
    with pytest.raises((ModelError, InvalidReply)) as caught:
        parse_reply((await asked(Act(kind="raw", text=str(raw)), wire)).text, Verbalized)
    assert KEY not in str(caught.value)


def _openai(text: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", **more}}


def _anthropic(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


@pytest.mark.parametrize(
    ("wire", "body", "field"),
    [
        ("anthropic", _anthropic("`temperature` is deprecated for this model."), "temperature"),
        (
            "anthropic",
            _anthropic("max_tokens: 99999 > 64000, which is the maximum allowed number"),
            "max_tokens",
        ),
        ("chat", _openai("no such value", param="temperature"), "temperature"),
        ("chat", _openai("no effort", param="reasoning.effort"), "reasoning_effort"),
    ],
)
async def test_a_refused_field_stops_the_run_and_names_itself(
    wire: str, body: dict[str, Any], field: str
) -> None:
    act = Act(kind="status", status=400, body=body)
    with pytest.raises(InputError, match=rf"does not take {field} .*params\.yaml"):
        await asked(act, wire)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("anthropic", _anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
        ("anthropic", _anthropic("input length and `max_tokens` exceed context limit: 9 + 2 > 10")),
        ("chat", _openai("maximum context length is 10", code="context_length_exceeded")),
        (
            "chat",
            _openai("'max_tokens' is too large: 9. This model's maximum context length is 5"),
        ),
    ],
)
async def test_a_prompt_that_is_too_long_fails_its_question_alone(
    wire: str, body: dict[str, Any]
) -> None:
    with pytest.raises(ReplyRefused):
        await asked(Act(kind="status", status=400, body=body), wire)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": "12", "completion_tokens": "3"}, (12, 3)),
        ({"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": "none"}, (12, 3)),
        ({"prompt_tokens": "many", "completion_tokens": None}, (0, 0)),
        ({"prompt_tokens": -4, "completion_tokens": [1]}, (0, 0)),
        ({"prompt_tokens": 1.5, "completion_tokens": {}}, (0, 0)),
        *((odd, (0, 0)) for odd in (None, 7, "free", [], {}, [None])),
    ],
)
async def test_an_odd_usage_counts_nothing_and_the_reply_is_used(
    usage: object, tokens: tuple[int, int]
) -> None:
    body = chat(usage=usage, id=7, model=None, created="yesterday")
    done = await asked(Act(kind="raw", text=json.dumps(body)))
    assert done.text == GOOD
    assert (done.usage.calls, done.usage.input_tokens, done.usage.output_tokens) == (1, *tokens)
