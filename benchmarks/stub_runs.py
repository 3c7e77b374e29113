"""The method over stand-ins: the official SDK, real sockets, the urban handbook.

The one simulator run that it asks for is made once and then stored.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import JsonValue

from flows.files import read_records, write_records
from flows.params import load_params
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.method.asking import together
from simulrag.method.recipes import recipe_of
from simulrag.method.settings import ClaimsPerCall, MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.steps import Backends
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.base import Provider
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Answer, Question
from simulrag.testing.loopback import question

ROOT = Path(__file__).resolve().parents[1]
PER_CLAIM = ClaimsPerCall(boundary=1, verify=1, verbalized=1)
IN_FLIGHT = 64
CHUNK = 50


class Watched(Provider):
    """A provider that notes of every call what was sent, and from when to when it took."""

    name = "openai"

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner.settings)
        self.spans: list[tuple[float, float]] = []
        self.sent: list[tuple[Sequence[Message], dict[str, JsonValue] | None]] = []
        self._inner = inner

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        """See Provider.call."""
        began = time.monotonic()
        reply = await self._inner.call(messages, schema, sampling, sample_index)
        self.spans.append((began, time.monotonic()))
        self.sent.append((messages, schema))
        return reply

    async def close(self) -> None:
        """Free connections."""
        await self._inner.close()


def settings(url: str) -> ModelSettings:
    """The server as an OpenAI-compatible model; the seed tells samples apart on the wire."""
    return ModelSettings(provider="openai", model="stub", base_url=url, sampling=Sampling(seed=0))


def method(**changes: object) -> MethodSettings:
    """params.yaml's method without what it is compared with, changed; m = 5, a 25 % budget."""
    stated = load_params(ROOT / "params.yaml").answer
    fixed: dict[str, object] = {
        "samples": 5,
        "final_budgets_percent": (25.0,),
        "verbalized": False,
        "beside": (),
    }
    return MethodSettings.model_validate(stated.model_dump() | fixed | changes)


async def answer(
    count: int, url: str, folder: Path, params: MethodSettings, *, watched: bool = False
) -> tuple[list[Answer], Watched | None]:
    """The answers to ``count`` stub questions, and what was sent where that is to be noted.

    Raises RuntimeError where a question failed: its figures would be too good.
    """
    out = folder / "answers.jsonl"
    watch = await write_answers(count, url, folder, params, out, watched=watched)
    return read_records(out, Answer), watch


async def write_answers(
    count: int, url: str, folder: Path, params: MethodSettings, out: Path, *, watched: bool = False
) -> Watched | None:
    """Answer ``count`` stub questions into a file, as the answer stage does. See ``answer``."""
    chosen = settings(url)
    provider = make_provider(chosen)
    watch = Watched(provider) if watched else None
    with CallCache(folder, stage="bench") as cache:
        gateway = Gateway(
            watch or provider, chosen, cache, packaged_prompts(), concurrency=IN_FLIGHT
        )
        use = Backends(gateway, Simulations(load("urban"), cache))
        write_records(out, await _answers([question_record(n) for n in range(count)], use, params))
        await gateway.close()
        cache.export(folder / "calls.parquet")
    return watch


async def _answers(
    questions: Sequence[Question], use: Backends, params: MethodSettings
) -> list[Answer]:
    recipe, drafts = recipe_of(params.method), list[Answer]()
    for start in range(0, len(questions), CHUNK):
        drafts += await together(
            recipe.draft(q, use, params) for q in questions[start : start + CHUNK]
        )
    rows = list(zip(questions, drafts, recipe.choose(drafts, params), strict=True))
    answers: list[Answer] = []
    for start in range(0, len(rows), CHUNK):
        answers += await together(
            recipe.conclude(question, drafted, chosen, use, params)
            for question, drafted, chosen in rows[start : start + CHUNK]
        )
    for answer in answers:
        if answer.failure is not None:
            raise RuntimeError(f"a stub question failed: {answer.failure}")
    return answers


@contextmanager
def stub_server(latency_s: float) -> Iterator[str]:
    """The loopback server in a process of its own; yields its base URL."""
    command = [sys.executable, "-m", "simulrag.testing", "--port", "0"]
    with subprocess.Popen(
        [*command, "--latency", str(latency_s)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def question_record(number: int) -> Question:
    """One of the stub questions."""
    return Question(
        question_id=f"stub-{number:05d}",
        domain="urban",
        text=question(number),
        reference_answer="",
        scenario_id=f"stub-{number:05d}",
    )
