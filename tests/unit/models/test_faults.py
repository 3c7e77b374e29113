"""What holds over every wire: the same faults are the same errors, and keys are in no text."""

from __future__ import annotations

import logging
import re
import socket
import traceback
from pathlib import Path

import polars as pl
import pytest

from simulrag.calls import CallCache
from simulrag.errors import (
    EnvironmentFault,
    InputError,
    ModelThrottled,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    ReplyInvalid,
    ReplyRefused,
    ReplyTruncated,
    SimulRAGError,
)
from simulrag.method.answering import CLOSED_BOOK
from simulrag.method.verification import BOUNDARY
from simulrag.models.base import Message, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.providers.anthropic import OFFICIAL_URL as ANTHROPIC_URL
from simulrag.models.providers.base import Provider
from simulrag.models.providers.faults import NO_KEY
from simulrag.models.providers.openai import OFFICIAL_URL as OPENAI_URL
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import (
    CUT_OFF,
    FILTERED,
    HANG,
    NO_JSON_BODY,
    RESET,
    Act,
    fails,
    refuses,
    says,
)
from tests.unit.models.conftest import KEY, KEY_VARIABLE

MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="Well?"))


async def failure(provider: Provider) -> SimulRAGError:
    with pytest.raises(SimulRAGError) as caught:
        await provider.call(MESSAGES, None, Sampling(), 0)
    return caught.value


NO_ANSWER = Act(kind="raw", text='{"id": "x"}')
_QUOTA = {"message": "no quota", "code": "insufficient_quota", "type": "billing_error"}
NO_CREDIT = Act(kind="status", status=429, body={"error": _QUOTA})


@pytest.mark.parametrize(
    ("act", "wanted"),
    [
        (fails(500), (ModelUnavailable, r"failed \(500\): .*out of order", "unavailable")),
        (fails(429, "slow down"), (ModelThrottled, r"rate limit.*\(429\)", "throttled")),
        (fails(529, "overloaded"), (ModelThrottled, r"\(529\)", "throttled")),
        (fails(400, "context length exceeded"), (ReplyRefused, r"\(400\): .*context", None)),
        (RESET, (ModelUnavailable, "no connection to http://127", "unavailable")),
        (NO_JSON_BODY, (ModelUnavailable, "not JSON", "unavailable")),
        (NO_ANSWER, (ModelUnavailable, "server's answer holds no", "unavailable")),
        (refuses("I will not."), (ReplyRefused, "the model refused: I will not", None)),
        (FILTERED, (ReplyRefused, "content filter|the model refused", None)),
        (CUT_OFF, (ReplyTruncated, "cut off", None)),
        (fails(401), (EnvironmentFault, KEY_VARIABLE, None)),
        (fails(402), (EnvironmentFault, "no credit", None)),
        (NO_CREDIT, (EnvironmentFault, "no credit", "throttled")),
        (fails(404), (InputError, "no model 'm'", None)),
    ],
)
async def test_failures_are_typed_and_counted(
    server: LoopbackServer,
    provider: Provider,
    act: Act,
    wanted: tuple[type[SimulRAGError], str, str | None],
) -> None:
    error, why, counted = wanted
    server.script(act)
    caught = await failure(provider)
    assert isinstance(caught, error)
    assert re.search(why, str(caught))
    assert dict(provider.failures) == ({} if counted is None else {counted: 1})
    assert len(server.requests) == 1
    assert (await provider.call(MESSAGES, None, Sampling(), 0)).text == "It rises by 12 %."


async def test_the_sdk_makes_a_failed_attempt_again(
    server: LoopbackServer, provider: Provider
) -> None:
    provider.retries = 2
    soon = {"retry_after_ms": "20"}
    server.script(fails(429, "slow", **soon), fails(503, "out of order", **soon))
    assert (await provider.call(MESSAGES, None, Sampling(), 0)).text == "It rises by 12 %."
    assert dict(provider.failures) == {"throttled": 1, "unavailable": 1}
    assert len(server.requests) == 3


async def test_an_attempt_has_a_deadline(server: LoopbackServer, provider: Provider) -> None:
    provider.timeout_s = 0.2
    server.script(HANG)
    caught = await failure(provider)
    assert isinstance(caught, ModelTimeout)
    assert re.search(r"gave no reply in time \(0\.2 s\)", str(caught))
    assert dict(provider.failures) == {"timeout": 1}


async def test_a_server_that_is_down(settings: ModelSettings) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
        provider = make_provider(settings.model_copy(update={"base_url": url}))
        caught = await failure(provider)
        await provider.close()
    assert isinstance(caught, ModelUnreachable)
    assert url.removesuffix("/v1") in str(caught)


async def test_a_missing_key_is_named_and_what_is_stored_needs_none(
    server: LoopbackServer, gateway: Gateway, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.ask(CLOSED_BOOK, question="What happens?")
    monkeypatch.delenv(KEY_VARIABLE)
    assert (await gateway.ask(CLOSED_BOOK, question="What happens?")).cached
    caught = await failure(provider)
    assert isinstance(caught, EnvironmentFault)
    assert KEY_VARIABLE in str(caught)
    assert len(server.requests) == 1


async def test_the_usual_key_is_for_the_usual_server(
    server: LoopbackServer, settings: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, url = ("OPENAI_API_KEY", OPENAI_URL)
    if settings.provider == "anthropic":
        usual, url = ("ANTHROPIC_API_KEY", ANTHROPIC_URL)
    monkeypatch.setenv(usual, KEY)
    elsewhere = make_provider(settings.model_copy(update={"api_key_env": None}))
    await elsewhere.call(MESSAGES, None, Sampling(), 0)
    await elsewhere.close()
    assert server.requests[0].headers["authorization"] == f"Bearer {NO_KEY}"
    monkeypatch.delenv(usual)
    official = make_provider(ModelSettings(provider=settings.provider, model="m"))
    caught = await failure(official)
    assert isinstance(caught, EnvironmentFault)
    assert usual in str(caught)
    assert url in str(caught)


async def test_the_key_is_nowhere_but_in_the_header(
    server: LoopbackServer, provider: Provider, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that quotes the key everywhere: in errors, refusals, replies and its version."""
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    for status in (400, 401, 402, 403, 404, 429, 500):
        server.script(fails(status, f"{KEY} is wrong"))
    server.script(refuses(f"{KEY}, I will not"), Act(kind="raw", text=f"not JSON {KEY}"))
    for _ in range(9):
        error = await failure(provider)
        said += [*traceback.format_exception(error), repr(error.__dict__)]
    server.script(says(f"{KEY} is not JSON"), says(f"nor is {KEY}"))
    with pytest.raises(ReplyInvalid) as caught:
        await gateway.ask(BOUNDARY, handbook="H", question="Q", claim="C")
    said += traceback.format_exception(caught.value)
    server.script(says(f"The key is {KEY}, it rises."))
    completion = await gateway.ask(CLOSED_BOOK, question="What happens?")
    assert completion.text == "The key is ***, it rises."
    said += [repr(provider), str(vars(provider)), repr(gateway), str(vars(gateway)), caplog.text]
    assert KEY not in "\n".join(said)
    assert any(KEY in value for value in server.requests[0].headers.values())


@pytest.mark.parametrize("value", [KEY, [KEY], {KEY: [KEY]}, [["x"] * 9] * 9, 5, True])
async def test_any_error_body_is_a_line_without_the_key(
    server: LoopbackServer, provider: Provider, value: object
) -> None:
    """Whichever of its fields holds the key, or what is no text."""
    usual = {"message": "no", "code": "unsupported_value", "param": "n", "type": "t"}
    bodies = [{"error": {**usual, field: value}} for field in usual]
    for body in [*bodies, {"error": value}, {"error": {"type": value}}]:
        server.script(Act(kind="status", status=400, body=body))
        error = await failure(provider)
        assert KEY not in str(error)
        assert "\n" not in str(error)
        assert "(400)" in str(error)


async def test_no_stored_reply_holds_the_key(
    server: LoopbackServer, gateway: Gateway, cache: CallCache, tmp_path: Path
) -> None:
    server.script(says(f"The key is {KEY}, it rises."))
    await gateway.ask(CLOSED_BOOK, question="What happens?")
    cache.export(tmp_path / "calls.parquet")
    exported = str(pl.read_parquet(tmp_path / "calls.parquet").to_dicts())
    assert "The key is ***" in exported
    assert KEY not in exported
    stored = bytes_below(tmp_path)
    assert b"The key is ***" in stored
    assert KEY.encode() not in stored


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
