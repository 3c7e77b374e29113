"""The three interfaces of the official SDKs, unpatched, against a real server on 127.0.0.1."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.providers.sdk import SdkProvider
from simulrag.models.settings import ModelSettings
from simulrag.testing import LoopbackServer, canned

KEY = "sk-planted-4f1d9b7c2e"
KEY_VARIABLE = "LOOPBACK_KEY"
ANSWERS = canned(
    {
        None: "It rises by 12 %.",
        "Boundary": '{"tool_confidence": 1}',
        "Decomposition": '{"claims": [{"claim": "It rises by 12 %."}]}',
        "ToolCalls": '{"calls": []}',
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
def wire(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def settings_of(server: LoopbackServer, wire: str, **more: object) -> ModelSettings:
    """The settings of a model behind the loopback server that wants the planted key."""
    given = {"model": "m", "base_url": server.url, "api_key_env": KEY_VARIABLE}
    return ModelSettings.model_validate({**WIRES[wire], **given, **more})


@pytest.fixture
def settings(wire: str, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> ModelSettings:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return settings_of(server, wire)


@pytest.fixture
async def provider(settings: ModelSettings) -> AsyncIterator[SdkProvider]:
    made = make_provider(settings)
    assert isinstance(made, SdkProvider)
    yield made
    await made.close()


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache", stage="test") as opened:
        yield opened


@pytest.fixture
async def gateway(settings: ModelSettings, cache: CallCache) -> AsyncIterator[Gateway]:
    """It makes no failed attempt again."""
    made = Gateway(make_provider(settings), settings, cache, packaged_prompts(), retries=0)
    yield made
    await made.close()
