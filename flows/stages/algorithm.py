"""Algorithm 1 over many questions: a chunk of questions at a time, and a step at a time in it.

Selection stands between two passes, because its budget is a share of all claims. Between passes
the questions lie on a shelf; what is held of all of them is what pooled decisions read.
"""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from flows.stages.cluster import Workers
from flows.params import AnswerParams
from flows.watch.progress import console, each
from flows.stages.shelf import Shelf
from flows.stages.bench import Workbench, chunks
from flows.stages.steps import first_pass, steps_of
from flows.watch.tracking import Tracker
from flows.stages.work import State, Work
from simulrag.method.baselines import first_sample, first_sample_selection
from simulrag.method.concurrency import together
from simulrag.method.selection import (
    NO_CANDIDATES,
    Candidates,
    candidates_of,
    kappa_from_quantile,
    keep,
    select_among,
)
from simulrag.records import Answer, Question

CHUNKS_A_WORKER = 2
"""Sent out at a time: one that is worked and one that waits for its turn."""

Names = Sequence[str]
"""Steps that are taken side by side."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What decisions over all questions read of one of them."""

    waits: bool
    claims: Candidates
    """None where it failed."""
    first: tuple[int, ...]
    """The claims of its first sample."""


async def answer_questions(
    questions: Iterable[Question],
    bench: Workbench,
    params: AnswerParams,
    tracker: Tracker,
    shelf: Shelf,
    *,
    chunk: int,
    workers: Workers | None = None,
) -> None:
    """All steps for all questions, which end on ``shelf`` (empty before) in their order.

    With ``workers`` the chunks are worked there, side by side.
    """
    for question in questions:
        shelf.add(State(question=question, answer=_empty(question)))
    passes = _Passes(shelf, bench, params, tracker, chunk=chunk, workers=workers)
    first = [tuple(steps) for steps in first_pass(params)]
    tracker.expect(len(shelf) * (len(first) + 1 + (params.verify == "selected")))
    await passes.take(first)
    pool = [standing.claims for standing in passes.standings]
    chosen = select_among(
        pool,
        budget_percent=params.budget_percent,
        pool=params.pool,
        tau=params.tau,
        seed=params.seed,
    )

    def select(index: int, state: State) -> State:
        answer = state.answer.model_copy(update={"selected": chosen[index]})
        return state.model_copy(update={"answer": answer})

    if params.verify == "selected":
        await passes.take([("verify",)], select)
    kappa = _kappa(passes.standings, params)
    firsts: list[tuple[int, ...]] = []
    if params.baselines:
        firsts = first_sample_selection(
            [standing.claims for standing in passes.standings],
            [standing.first for standing in passes.standings],
            budget_percent=params.budget_percent,
            by_question=params.pool == "question",
            seed=params.seed,
        )

    def conclude(index: int, state: State) -> State:
        answer = select(index, state).answer
        if answer.failure is None:  # else its claims may have no confidence
            kept = keep(answer.claims, answer.selected, kappa, params.centrality)
            answer = answer.model_copy(update={"kept": kept, "kappa": kappa})
        own = firsts[index] if firsts else ()
        return state.model_copy(update={"answer": answer, "first_sample": own})

    last = ("synthesise", "compare") if params.baselines else ("synthesise",)
    await passes.take([last], conclude)


class _Passes:
    """Passes over the questions of a shelf, one chunk in memory at a time (a few with workers)."""

    def __init__(
        self,
        shelf: Shelf,
        bench: Workbench,
        params: AnswerParams,
        tracker: Tracker,
        *,
        chunk: int,
        workers: Workers | None,
    ) -> None:
        self.standings = [_standing(shelf.get(i), params.centrality) for i in range(len(shelf))]
        self._shelf = shelf
        self._bench = bench
        self._params = params
        self._tracker = tracker
        self._chunk = chunk
        self._workers = workers

    async def take(
        self,
        groups: Sequence[Names],
        prepare: Callable[[int, State], State] = lambda _, state: state,
    ) -> None:
        """Take groups of steps one after another for every question, ``prepare`` before them.

        Raises CallsPending where questions wait: what follows a pass pools all of them.
        """
        room = asyncio.Semaphore(
            1 if self._workers is None else CHUNKS_A_WORKER * self._workers.threads
        )

        async def part(span: str, indices: list[int]) -> None:
            async with room:
                states = [prepare(index, self._shelf.get(index)) for index in indices]
                for names in groups:
                    label = f"{', '.join(names)} {span}"
                    work = partial(self._group, names, label, states)
                    states = await self._tracker.step(label, work)
                for index, state in zip(indices, states, strict=True):
                    self._shelf.put(index, state)
                    self.standings[index] = _standing(state, self._params.centrality)

        spans = chunks(range(len(self._shelf)), self._chunk)
        if self._workers is None:
            for span, indices in spans:
                await part(span, indices)
        else:
            await together(part(span, indices) for span, indices in spans)
        self._bench.waiting.check(*(standing.waits for standing in self.standings))

    async def _group(self, names: Names, label: str, states: list[State]) -> list[State]:
        if self._workers is not None:
            after = await self._workers.run(partial(_take_states, states, names, self._params))
            for _ in after:
                self._tracker.advance()
            console.print(f"  {label}: {len(after)} done")
            return after
        works = [Work(state, self._bench) for state in states]
        steps = steps_of(self._params, names)
        await each(label, works, lambda work: work.do(steps), self._tracker.advance)
        return [work.state for work in works]


async def _take_states(
    states: list[State], names: Names, params: AnswerParams, bench: Workbench
) -> list[State]:
    """On a worker: the steps for a chunk of questions."""
    steps = steps_of(params, names)
    works = [Work(state, bench) for state in states]
    await together(work.do(steps) for work in works)
    return [work.state for work in works]


def _standing(state: State, centrality: str) -> Standing:
    answer, waits = state.answer, bool(state.waiting)
    failed = answer.failure is not None
    if failed or waits:  # its claims may have no confidence yet
        return Standing(waits, NO_CANDIDATES, ())
    claims = candidates_of([answer], centrality)
    compact = replace(claims, confidence=array("d", claims.confidence))
    return Standing(waits, compact, first_sample(answer))


def _kappa(standings: Sequence[Standing], params: AnswerParams) -> float:
    """The given kappa, or the quantile of confidence over the development questions.

    Those are drawn by the hash of their id, so that adding questions moves nobody; where none
    falls into the part (one question asked by hand), all questions are.
    """
    if params.kappa is not None:
        return params.kappa
    complete = [standing.claims for standing in standings if len(standing.claims)]
    part = [claims for claims in complete if _draw(claims.question[0]) < params.kappa_development]
    scores = [score for claims in part or complete for score in claims.confidence]
    return kappa_from_quantile(scores, params.kappa_quantile) if scores else 0.0


def _draw(question_id: str) -> float:
    digest = hashlib.sha256(f"development {question_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _empty(question: Question) -> Answer:
    return Answer(question_id=question.question_id, domain=question.domain)
