"""One question on its way through the steps of Algorithm 1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from flows.stages.bench import Workbench
from simulators.base import SimulatorError
from simulrag.errors import CallsPending, ModelError
from simulrag.method.concurrency import together
from simulrag.method.merging import MergedClaim
from simulrag.models.counting import Counted
from simulrag.records import Answer, Failure, Question, Record

Step = Callable[["Work"], Awaitable[Answer]]
"""Returns the answer as it is after the step's last await, with the step's own fields replaced: a
step beside it may have added others meanwhile."""
Steps = Mapping[str, Step]
"""Steps that are taken side by side, by name."""

NEEDS: dict[str, frozenset[str]] = {
    "retrieve": frozenset(),
    "answer": frozenset(),
    "decompose": frozenset({"answer"}),
    "merge": frozenset({"decompose"}),
    "score": frozenset({"merge"}),
    "assess": frozenset({"score"}),
    "verbalize": frozenset({"score"}),
    "verify": frozenset({"retrieve", "score"}),
    "synthesise": frozenset({"verify"}),
    "compare": frozenset({"verify"}),
}
"""The steps whose results a step reads, directly."""


Draft = tuple[tuple[MergedClaim, ...], tuple[MergedClaim, ...]]
"""Two sets of claims before the last call of merging makes them one."""
NO_DRAFT: Draft = ((), ())


class State(Record):
    """All that is known of one question between two steps."""

    question: Question
    answer: Answer
    draft: Draft = NO_DRAFT
    waiting: frozenset[str] = frozenset()
    first_sample: tuple[int, ...] = ()
    """The claims that SimulRAG at m = 1 verifies, once the baselines are to be made."""


class Work:
    """One question on its way through the steps."""

    def __init__(self, state: State, bench: Workbench) -> None:
        self.bench = bench
        self.take_over(state)

    def take_over(self, state: State) -> None:
        """Go on from there."""
        self.question = state.question
        self.answer = state.answer
        self.draft = state.draft
        self.ask = Counted(self.bench.gateway, state.answer.usage)
        self.waiting = set(state.waiting)
        self.first_sample = state.first_sample

    @property
    def state(self) -> State:
        """What another process needs to go on from here."""
        return State(
            question=self.question,
            answer=self.answer,
            draft=self.draft,
            waiting=frozenset(self.waiting),
            first_sample=self.first_sample,
        )

    async def do(self, steps: Steps) -> None:
        """Take the steps. A typed error fails this question alone and stops its later steps.

        Where calls wait for a batch, the steps that need theirs wait too and no others.
        """
        if self.answer.failure is not None:
            return
        ready = {name: step for name, step in steps.items() if not self.waiting & NEEDS[name]}
        self.waiting |= steps.keys() - ready.keys()
        failures = await together(self._take(name, step) for name, step in ready.items())
        found = [failure for failure in (self.answer.failure, *failures) if failure is not None]
        # Of several the first in the steps' order, not the first in time.
        failure = found[0] if found else None
        self.answer = self.with_(failure=failure, usage=dict(sorted(self.ask.usage.items())))

    async def _take(self, name: str, step: Step) -> Failure | None:
        try:
            self.answer = await step(self)
        except CallsPending:
            self.waiting.add(name)
        except (ModelError, SimulatorError) as error:
            return Failure(step=name, reason=str(error))
        return None

    def with_(self, **changes: object) -> Answer:
        """The answer so far with some fields replaced."""
        return self.answer.model_copy(update=changes)

    def with_claims(self, changes: Mapping[int, Mapping[str, object]]) -> Answer:
        """The answer so far with some fields of its claims replaced, by the claims' indices."""
        claims = list(self.answer.claims)
        for index, fields in changes.items():
            claims[index] = claims[index].model_copy(update=fields)
        return self.with_(claims=tuple(claims))

    @property
    def context(self) -> str:
        """The simulator's text, empty where there is none."""
        return self.answer.retrieval.context if self.answer.retrieval else ""
