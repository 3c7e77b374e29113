"""A provider that fails, over real sockets: nothing is lost, nothing is paid twice."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

from simulrag.models.retry import DOWN_AFTER, RetryPolicy

from simulrag.calls import CallCache
from simulrag.errors import ModelError, ProviderDown
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import Verbalized
from simulrag.models.settings import ModelSettings
from simulrag.records import Question
from simulrag.testing.loopback import (
    HANG,
    NO_JSON_BODY,
    RESET,
    Act,
    LoopbackServer,
    canned,
    fails,
)
from tests.integration.projects import copy_project, run

PROMPTS = Path(__file__).parents[2] / "prompts"
ANSWERS = canned({"Verbalized": '{"probability": 0.5}'})
QUICK = RetryPolicy(retries=6, backoff_s=0.02, longest_wait_s=0.5)


def gateway(server: LoopbackServer, cache: CallCache, policy: RetryPolicy = QUICK) -> Gateway:
    settings = ModelSettings(provider="openai", model="m", base_url=server.url)
    provider = make_provider(settings)
    prompts = Prompts(PROMPTS)
    return Gateway(provider, settings, cache, prompts, concurrency=16, timeout_s=0.5, retry=policy)


async def test_under_random_faults_each_call_is_answered_once(tmp_path: Path) -> None:
    draw = random.Random(4)
    faults = [fails(429, retry_after="0.05"), fails(429), fails(500), RESET, NO_JSON_BODY, HANG]
    acts = [draw.choice(faults) if draw.random() < 0.3 else Act() for _ in range(120)]
    with (
        LoopbackServer(ANSWERS, acts) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        gate = gateway(server, cache)
        done = await asyncio.gather(
            *(gate.ask("verbalized", Verbalized, question="Q", claim=f"{i}") for i in range(150))
        )
        failed = sum(act.kind != "reply" for act in acts)
        assert sum(gate.failures.values()) == failed > 20
        assert gate.paid["verbalized"].calls == 150
        again = await gate.ask("verbalized", Verbalized, question="Q", claim="0")
        await gate.close()
    assert all(completion.usage.calls == 1 for completion in done)
    assert again.cached
    # 150 answered, and every fault was one request more: the SDK repeats nothing by itself.
    assert len(server.requests) == 150 + failed
    asked = Counter(json.dumps(request.body["messages"]) for request in server.requests)
    assert len(asked) == 150


async def test_retry_after_is_kept_by_everybody(tmp_path: Path) -> None:
    with (
        LoopbackServer(ANSWERS, [fails(429, retry_after="0.4")]) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        gate = gateway(server, cache)
        began = time.monotonic()
        await gate.ask("verbalized", Verbalized, question="Q", claim="first")
        assert time.monotonic() - began >= 0.4
        assert gate.failures == {"throttled": 1}
        await gate.close()


async def test_a_provider_that_stays_down_stops_the_run(tmp_path: Path) -> None:
    with (
        LoopbackServer(ANSWERS, [fails(503)] * 500) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        gate = gateway(server, cache, RetryPolicy(retries=2, backoff_s=0.01))
        results = await asyncio.gather(
            *(gate.ask("verbalized", Verbalized, question="Q", claim=f"{i}") for i in range(300)),
            return_exceptions=True,
        )
        await gate.close()
    alone = [r for r in results if isinstance(r, ModelError)]
    stopped = [r for r in results if isinstance(r, ProviderDown)]
    assert (len(alone), len(stopped)) == (DOWN_AFTER - 1, 300 - DOWN_AFTER + 1)
    assert re.search(r"is down.*failed \(503\).*run the same", str(stopped[0]))
    assert len(server.requests) < 64  # the sixteen in flight, three times, and no one after them


def test_a_stage_whose_provider_is_down_ends_with_one_line(tmp_path: Path) -> None:
    project = copy_project(
        tmp_path / "project",
        **{
            "operations.prefect": "off",
            "operations.retry": {"retries": 1, "backoff_s": 0.05, "longest_wait_s": 1},
            "llm.answer": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"},
        },
    )
    questions = [
        Question(
            question_id=f"q{i}",
            domain="urban",
            text=f"What if the speed limit falls by {i} percent?",
            reference_answer="",
            scenario_id=f"s{i}",
        )
        for i in range(5)
    ]
    file = project / "questions.jsonl"
    file.write_text("".join(question.model_dump_json() + "\n" for question in questions))
    done = run(
        project,
        *(sys.executable, "-m", "flows.stages.answer", "--domain", "urban"),
        *("--benchmark", str(file), "--out", "out"),
        check=False,
    )
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    assert "provider is down" in errors[0]
    assert "127.0.0.1:9" in errors[0]
    assert "Traceback" not in done.stderr
    assert not (project / "out/answers/urban.jsonl").exists()
