"""A provider that fails, over real sockets: nothing is lost, nothing is paid twice."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.method.verification import VERBALIZED
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.testing import LoopbackServer, canned
from simulrag.testing.loopback import HANG, RESET, Act, fails

pytestmark = pytest.mark.slow  # the SDKs wait half a second and more before they try again
ANSWERS = canned({"Verbalized": '{"probability": 0.5}'})


def gateway(server: LoopbackServer, cache: CallCache, retries: int) -> Gateway:
    settings = ModelSettings(provider="openai", model="m", base_url=server.url)
    provider = make_provider(settings)
    prompts = packaged_prompts()
    return Gateway(provider, settings, cache, prompts, concurrency=16, timeout_s=2, retries=retries)


async def test_under_random_faults_each_call_is_answered_once(tmp_path: Path) -> None:
    draw = random.Random(4)
    soon = {"retry_after_ms": "20"}
    faults = [fails(429, "slow", **soon), fails(429), fails(500, "out", **soon), RESET, HANG]
    acts = [draw.choice(faults) if draw.random() < 0.3 else Act() for _ in range(120)]
    with (
        LoopbackServer(ANSWERS, acts) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        gate = gateway(server, cache, retries=6)
        done = await asyncio.gather(
            *(gate.ask(VERBALIZED, question="Q", claim=f"{i}") for i in range(150))
        )
        failed = sum(act.kind != "reply" for act in acts)
        assert sum(gate.failures.values()) == failed > 20
        assert gate.paid["verbalized"].calls == 150
        again = await gate.ask(VERBALIZED, question="Q", claim="0")
        await gate.close()
    assert all(completion.usage.calls == 1 for completion in done)
    assert again.cached
    # 150 answered, and every fault was one request more.
    assert len(server.requests) == 150 + failed
    asked = Counter(json.dumps(request.body["messages"]) for request in server.requests)
    assert len(asked) == 150
