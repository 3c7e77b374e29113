"""The answer stage's method over stub traffic: the official SDK, real sockets, the urban handbook.

The one simulator run that the stub asks for is made once and then stored.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flows.stages.algorithm import answer_questions
from flows.stages.shelf import Shelf
from pydantic import JsonValue

from flows.files import read_records, write_records
from flows.params import AnswerParams, ClaimsPerCall, load_params
from flows.stages.bench import Workbench
from flows.stages.waiting import Waiting
from flows.watch.tracking import Untracked
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.base import Provider
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Answer, Question
from simulrag.testing.traffic import question

ROOT = Path(__file__).resolve().parents[1]
PER_CLAIM = ClaimsPerCall(boundary=1, verify=1)


class Watched(Provider):
    """A provider that notes of every call what was sent, and from when to when it took."""

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
    """The stub server as an OpenAI-compatible model; the seed tells samples apart on the wire."""
    return ModelSettings(provider="openai", model="stub", base_url=url, sampling=Sampling(seed=0))


def method(**changes: object) -> AnswerParams:
    """params.yaml's method without what it is compared with, changed; m = 5, a 25 % budget."""
    stated = load_params(ROOT / "params.yaml").answer
    fixed = {"samples": 5, "budget_percent": 25.0, "verbalized": False, "baselines": False}
    return stated.model_copy(update=fixed | changes)


async def answer(
    count: int, url: str, folder: Path, params: AnswerParams, *, watched: bool = False
) -> tuple[list[Answer], Watched | None]:
    """The answers to ``count`` stub questions, and what was sent where that is to be noted.

    Raises RuntimeError where a question failed: its figures would be too good.
    """
    out = folder / "answers.jsonl"
    watch = await write_answers(count, url, folder, params, out, watched=watched)
    return read_records(out, Answer), watch


async def write_answers(
    count: int, url: str, folder: Path, params: AnswerParams, out: Path, *, watched: bool = False
) -> Watched | None:
    """Answer ``count`` stub questions into a file, as the answer stage does. See ``answer``."""
    chosen = settings(url)
    provider = make_provider(chosen)
    watch = Watched(provider) if watched else None
    simulator = load("urban")
    with CallCache(folder, stage="bench") as cache:
        gateway = Gateway(
            watch or provider, chosen, cache, Prompts(ROOT / "prompts"), concurrency=64
        )
        runs = Simulations(simulator, cache)
        bench = Workbench(cache, gateway, Waiting("bench", None), simulator.handbook(), runs, 0)
        questions = (_record(number) for number in range(count))
        with Shelf(folder) as shelf:
            await answer_questions(questions, bench, params, Untracked(), shelf, chunk=50)
            write_records(out, _complete(shelf.answers()))
        await gateway.close()
        cache.export(folder / "calls.parquet")
    return watch


def _complete(answers: Iterable[Answer]) -> Iterator[Answer]:
    for item in answers:
        if item.failure is not None:
            raise RuntimeError(f"a stub question failed: {item.failure}")
        yield item


@contextmanager
def stub_server(latency_s: float) -> Iterator[str]:
    """The loopback server with stub traffic in a process of its own; yields its base URL."""
    command = [sys.executable, "-m", "simulrag.testing", "--port", "0"]
    with subprocess.Popen(
        [*command, "--latency", str(latency_s)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def _record(number: int) -> Question:
    return Question(
        question_id=f"stub-{number:05d}",
        domain="urban",
        text=question(number),
        reference_answer="",
        scenario_id=f"stub-{number:05d}",
    )
