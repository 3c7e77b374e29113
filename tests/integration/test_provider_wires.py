"""What holds for every provider with a key, over every wire: the same faults, the same care."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.errors import EnvironmentFault, InputError, ModelError, SimulRAGError
from simulrag.models.base import Message, Provider, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.parsing import reply_schema
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import Boundary, Verbalized
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.testing.loopback import (
    CUT_OFF,
    FILTERED,
    MODEL_VERSION,
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
MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="Well?"))
ANSWERS = canned(
    {
        None: "It rises by 12 %.",
        "Boundary": '{"tool_confidence": 1}',
        "Verbalized": '{"probability": 0.5}',
    }
)
WIRES = {
    "chat": {"provider": "openai", "api": "chat"},
    "responses": {"provider": "openai", "api": "responses"},
    "anthropic": {"provider": "anthropic"},
}


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(ANSWERS) as running:
        yield running


@pytest.fixture(params=list(WIRES))
def settings(
    request: pytest.FixtureRequest, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> ModelSettings:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    more = {"model": "m", "base_url": server.url, "api_key_env": "LOOPBACK_KEY"}
    return ModelSettings.model_validate({**WIRES[request.param], **more})


@pytest.fixture
async def provider(settings: ModelSettings) -> AsyncIterator[Provider]:
    made = make_provider(settings)
    yield made
    await made.close()


@pytest.fixture
async def gateway(settings: ModelSettings, tmp_path: Path) -> AsyncIterator[Gateway]:
    with CallCache(tmp_path / "cache", stage="test") as cache:
        made = Gateway(make_provider(settings), settings, cache, Prompts(PROMPTS), timeout_s=20)
        yield made
        await made.close()


async def failure(provider: Provider) -> SimulRAGError:
    with pytest.raises(SimulRAGError) as caught:
        await provider.call(MESSAGES, None, Sampling(), 0)
    return caught.value


async def test_free_text(server: LoopbackServer, provider: Provider) -> None:
    reply = await provider.call(MESSAGES, None, Sampling(), 0)
    assert reply.text == "It rises by 12 %."
    assert reply.model_version == MODEL_VERSION
    assert reply.usage == Usage(calls=1, input_tokens=3, output_tokens=5)
    assert len(server.requests) == 1


async def test_a_reply_by_schema(server: LoopbackServer, provider: Provider) -> None:
    reply = await provider.call(MESSAGES, reply_schema(Boundary), Sampling(), 0)
    assert Boundary.model_validate_json(reply.text) == Boundary(tool_confidence=1)
    assert server.requests[0].schema_name == "Boundary"


@pytest.mark.parametrize(
    ("act", "what", "why"),
    [
        (fails(500), ("unavailable", None), r"failed \(500\): .*out of order"),
        (fails(429, "slow down", retry_after="7"), ("unavailable", "throttled"), r"\(429\)"),
        (fails(529, "overloaded"), ("unavailable", "throttled"), r"\(529\)"),
        (fails(400, "context length exceeded"), ("refused", None), r"\(400\): .*context"),
        (RESET, ("unavailable", None), "no connection to http://127"),
        (NO_JSON_BODY, ("unavailable", None), "no JSON"),
        (Act(kind="raw", text='{"id": "x"}'), ("unavailable", None), "server's answer holds no"),
        (refuses("I will not."), ("refused", None), "the model refused: I will not"),
        (FILTERED, ("refused", None), "content filter|the model refused"),
        (CUT_OFF, ("truncated", None), "cut off"),
    ],
)
async def test_failures_are_typed_and_tried_once(
    server: LoopbackServer, provider: Provider, act: Act, what: tuple[str, str | None], why: str
) -> None:
    server.script(act)
    error = await failure(provider)
    assert isinstance(error, ModelError)
    assert (error.kind, error.cause) == what
    assert error.retry_after_s == (7.0 if "Retry-After" in act.headers else None)
    assert re.search(why, str(error))
    assert len(server.requests) == 1
    assert (await provider.call(MESSAGES, None, Sampling(), 0)).text == "It rises by 12 %."


@pytest.mark.parametrize(
    ("act", "error", "why"),
    [
        (fails(401), EnvironmentFault, "LOOPBACK_KEY"),
        (fails(402), EnvironmentFault, "no credit"),
        (fails(404), InputError, "no model 'm'"),
    ],
)
async def test_what_the_user_has_to_mend_stops_the_run(
    server: LoopbackServer,
    provider: Provider,
    act: Act,
    error: type[SimulRAGError],
    why: str,
) -> None:
    server.script(act)
    caught = await failure(provider)
    assert type(caught) is error
    assert why in str(caught)


async def test_a_spoilt_reply_is_repaired(server: LoopbackServer, gateway: Gateway) -> None:
    server.script(says('{"probability": "high"}'))
    completion = await gateway.ask("verbalized", Verbalized, question="Well?", claim="It rises.")
    assert completion.parsed.probability == 0.5
    assert completion.usage.calls == 2


async def test_a_missing_key_is_named(
    server: LoopbackServer, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOPBACK_KEY")
    error = await failure(provider)
    assert isinstance(error, EnvironmentFault)
    assert "LOOPBACK_KEY" in str(error)
    assert server.requests == []


async def test_the_key_is_nowhere_but_in_the_header(
    server: LoopbackServer, provider: Provider, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    for status in (400, 401, 402, 403, 404, 429, 500):
        server.script(fails(status, f"{KEY} is wrong"))
    server.script(refuses(f"{KEY}, I will not"), Act(kind="raw", text=f"not JSON {KEY}"))
    for _ in range(9):
        error = await failure(provider)
        said += [*traceback.format_exception(error), repr(error.__dict__)]
    server.script(says(f"The key is {KEY}, it rises."))
    completion = await gateway.ask("closed_book", question="What happens?")
    assert completion.text == "The key is ***, it rises."
    said += [repr(provider), str(vars(provider)), repr(gateway), str(vars(gateway)), caplog.text]
    assert KEY not in "\n".join(said)
    assert any(KEY in value for value in server.requests[0].headers.values())
