"""Who scores answers: the judge, and beside it the other models that scores may need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from flows.params import Params
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from rooms.score.asking import SCORE_CONFIDENCE, Panel, ask_about
from rooms.score.formulas import Scorer
from rooms.score.records import AnswerToScore, ScoredAnswer
from rooms.score.scored import facts_of, measured
from rooms.score.settings import ScoreParams
from simulators.base import MissingEngineError, Simulator
from simulators.library.encoder import Encoder
from simulrag.calls import StageRun
from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.base import Message, Request, Sampling
from simulrag.models.settings import ModelSettings
from simulrag.records import Record
from simulrag.stage import Role

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway


class TokenLikelihoods(Record):
    """The tokens of a given answer, by id (or text), and their natural log-probabilities.

    ``cached``: nothing was paid now.
    """

    tokens: tuple[int | str, ...]
    logprobs: tuple[float, ...]
    cached: bool = False


async def likelihood(
    gateway: Gateway, task: str, answer: str, **values: object
) -> TokenLikelihoods:
    """Measure how probable ``answer`` is after the task's prompt, rendered with ``values``.

    Stored as any other call, under a key of its own kind. Raises InputError for an empty answer,
    NotOffered (a ModelError) with the reason where the provider has no such thing, and ModelError.
    """
    if not answer.strip():
        raise InputError("an empty answer has no tokens: there is no confidence in it")
    messages = (*gateway.rendered(task, **values), Message(role="assistant", content=answer))
    # The server writes one token that nobody looks at: what a budget reserves is the prompt.
    request = Request(task, messages, sampling=Sampling(max_output_tokens=1), measure="likelihood")
    completion = await gateway.complete(request)
    pairs = json.loads(completion.text)
    return TokenLikelihoods(
        tokens=tuple(token for token, _ in pairs),
        logprobs=tuple(value for _, value in pairs),
        cached=completion.cached,
    )


def reranker(gateway: Gateway) -> Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]:
    """Return a scorer by a compatible ``/v1/rerank``: a score a text, stored as any other call.

    It raises NotOffered (a ModelError) where the provider has no reranker, and ModelError.
    """

    async def scores(query: str, texts: Sequence[str]) -> Sequence[float]:
        messages = tuple(Message(role="user", content=text) for text in (query, *texts))
        least = Sampling(max_output_tokens=1)
        request = Request("rerank", messages, sampling=least, measure="rerank")
        values: list[float] = json.loads((await gateway.complete(request)).text)
        return values

    return scores


_ONE_AT_A_TIME = Lock()
_encoder = lru_cache(maxsize=1)(Encoder)


async def similarity(query: str, texts: Sequence[str]) -> list[float]:
    """Return cosines of all-MiniLM-L6-v2 vectors, on the CPU: the same on every machine, no call.

    Raises EnvironmentFault where its weights are not installed.
    """

    def cosines() -> list[float]:
        with _ONE_AT_A_TIME:  # else every thread would load the weights
            first, *others = _encoder().encode([query, *texts])
        return [float(first @ other) for other in others]

    try:
        return await asyncio.to_thread(cosines)
    except MissingEngineError as error:
        raise EnvironmentFault(str(error)) from None


@dataclass(frozen=True)
class ScoringDesk:
    """Everybody who is asked, and what compares texts."""

    panel: Panel
    settings: ScoreParams
    fits: Scorer

    async def score(self, _: StageResources, item: tuple[AnswerToScore, bool]) -> ScoredAnswer:
        """Score one answer; the item says whether its context use is measured."""
        given, forced = item
        facts = facts_of(given.evidence)
        asked = await ask_about(given, facts, self.panel, self.settings, forced=forced)
        return await measured(asked, self.settings, similarity, self.fits)


@asynccontextmanager
async def open_desk(
    at: StageContext, bench: StageResources, simulator: Simulator | None
) -> AsyncIterator[ScoringDesk]:
    """Open one judge or several, and the models of confidence and fit that are named."""
    score = at.params.room(ScoreParams)
    async with AsyncExitStack() as stack:

        async def further(what: str, settings: ModelSettings) -> StageResources:
            llm = at.params.llm.model_copy(update={"judge": settings})
            own = at.params.model_copy(update={"llm": llm})
            return await stack.enter_async_context(beside(at, bench, what, "judge", params=own))

        judges = [(bench.gateway, sample) for sample in range(score.samples)]
        if score.judges:
            benches = [
                await further(f"judge-{i}", judge) for i, judge in enumerate(score.judges, 1)
            ]
            judges = [(judge.gateway, 0) for judge in benches]
        panel = Panel(bench.gateway, judges, {} if simulator is None else simulator.tools)
        if score.confidence is not None:
            proxy = (await further("confidence", score.confidence)).gateway

            async def probabilities(given: AnswerToScore, facts: Sequence[str]) -> Sequence[float]:
                shown = {"question": given.question, "facts": list(facts)}
                likelihoods = await likelihood(proxy, SCORE_CONFIDENCE.name, given.answer, **shown)
                return likelihoods.logprobs

            named = f"{score.confidence.provider}: {Path(score.confidence.model).name}"
            panel = replace(panel, probabilities=probabilities, proxy=named)
        fits: Scorer = similarity
        if score.reranker is not None:
            fits = reranker((await further("reranker", score.reranker)).gateway)
        yield ScoringDesk(panel, score, fits)


@asynccontextmanager
async def beside(
    at: StageContext,
    main: StageResources,
    what: str,
    role: Role,
    *,
    params: Params | None = None,
    simulator: Simulator | None = None,
    seed: int = 0,
) -> AsyncIterator[StageResources]:
    """Open a further model of the stage, whose calls go into the stage's one export."""
    async with at.opened(simulator, seed, beside=what, role=role, params=params) as bench:
        yield bench
        main.cache.adopt(bench.cache.used, bench.cache.questions, StageRun(**bench.cache.counts()))
