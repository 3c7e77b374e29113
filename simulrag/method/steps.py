"""What the recipes share: one question on its way, and the steps that it goes through.

A step notes what it found in the question's answer. A typed error of the model or the simulator
ends the question and is noted as its failure, with the step's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from simulators.base import SimulatorError
from simulrag.errors import ModelError
from simulrag.method.answering import closed_book_answers
from simulrag.method.asking import together
from simulrag.method.claims import Claims, decompose, merge_claims, support_matrix
from simulrag.method.confidence import claim_confidence
from simulrag.method.retrieval import Planning, retrieve
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.verification import assess_boundaries, verbalized_confidences, verify_claims
from simulrag.models.base import Asker, Counted
from simulrag.records import (
    CENTRALITIES,
    Answer,
    Centrality,
    Claim,
    Failure,
    Question,
    Selection,
)

Rows = Sequence[Sequence[bool]]
"""``rows[answer][claim]``: whether the answer supports the claim."""


@dataclass(frozen=True)
class Backends:
    """The model that is asked and the simulator that is run, with the seed of its runs.

    ``centralities``: those that a claim gets a confidence by; the recipe's own is among them.
    """

    ask: Asker
    simulations: Simulations
    seed: int = 0
    centralities: tuple[Centrality, ...] = CENTRALITIES


class StepFailed(Exception):  # noqa: N818 caught where the question's failure is noted
    """Ends a question."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class QuestionState:
    """One question on its way: its answer so far, and an asker that counts what it uses."""

    def __init__(self, question: Question, use: Backends, answer: Answer | None = None) -> None:
        self.text = question.text
        self.use = use
        self.answer = answer or Answer(question_id=question.question_id, domain=question.domain)
        self.ask = Counted(use.ask, self.answer.usage)

    def note(self, **changes: object) -> None:
        """Replace fields of the answer. Raises TypeError where it has no such field."""
        if misspelt := changes.keys() - Answer.model_fields.keys():
            raise TypeError(f"an answer has no field {', '.join(sorted(misspelt))}")
        self.answer = self.answer.model_copy(update=changes)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Note, around all steps, the failure that ended them, and what was used."""
        try:
            yield
        except StepFailed as error:
            self.note(failure=error.failure)
        self.note(usage=dict(sorted(self.ask.usage.items())))

    @contextmanager
    def adding(self, to: str = "") -> Iterator[None]:
        """Note a failure of steps that only add to the answer: it stands without them.

        ``to``: a name that stands before the step's.
        """
        try:
            yield
        except StepFailed as error:
            failed = Failure(step=f"{to}{error.failure.step}", reason=error.failure.reason)
            self.note(failed_steps=(*self.answer.failed_steps, failed))


@contextmanager
def step(name: str) -> Iterator[None]:
    """Make a typed error in here the question's failure at this step."""
    try:
        yield
    except (ModelError, SimulatorError) as error:
        raise StepFailed(Failure(step=name, reason=str(error))) from None


async def retrieve_evidence(work: QuestionState, settings: MethodSettings, looks: int = 1) -> None:
    """Do step 1: the model plans tool calls, in so many looks at most, and the simulator runs."""
    with step("retrieve"):
        retrieval = await retrieve(
            work.text,
            work.ask,
            work.use.simulations,
            max_attempts=settings.max_attempts,
            seed=work.use.seed,
            planning=Planning(settings.runs, looks),
        )
    work.note(retrieval=retrieval, simulator_runs=len(retrieval.evidence))
    reason = "; ".join(retrieval.problems)
    if retrieval.status == "failed":
        raise StepFailed(Failure(step="retrieve", reason=reason))
    if reason and retrieval.evidence:
        with work.adding():
            raise StepFailed(Failure(step="more_calls", reason=reason))


async def sample(work: QuestionState, settings: MethodSettings) -> list[tuple[str, ...]]:
    """Do steps 2 and 3: m answers without the simulator, and the atomic claims of each."""
    with step("answer"):
        texts = await closed_book_answers(work.text, work.ask, settings.samples)
    work.note(closed_book=texts)
    with step("decompose"):
        sets = await together(
            decompose(work.text, text, work.ask, limit=settings.max_claims) for text in texts
        )
    work.note(answer_claims=tuple(sets))
    return sets


async def merge(work: QuestionState, sets: Sequence[tuple[str, ...]]) -> Claims:
    """Do step 4: the claim sets as one."""
    with step("merge"):
        return await merge_claims(tuple(sets), work.ask)


async def support(work: QuestionState, merged: Claims) -> Rows:
    """Do step 5: which answer supports which claim."""
    with step("score"):
        return await support_matrix(work.answer.closed_book, merged, work.ask)


async def boundary(work: QuestionState, merged: Claims, settings: MethodSettings) -> list[bool]:
    """Do step 7: which claims the simulator could check; none where it has no tool."""
    simulator = work.use.simulations.simulator
    if not simulator.tools:
        return [False] * len(merged)
    with step("assess"):
        return await assess_boundaries(
            work.text,
            [claim.text for claim in merged],
            simulator.handbook(),
            work.ask,
            claims_per_call=settings.claims_per_call.boundary,
        )


async def stated(work: QuestionState, merged: Claims, settings: MethodSettings) -> list[float]:
    """Ask for the confidence that the model states, for a baseline, where settings say so."""
    probabilities: list[float] = []
    if settings.verbalized:
        with work.adding(), step("verbalize"):
            probabilities = await verbalized_confidences(
                work.text,
                [claim.text for claim in merged],
                work.ask,
                claims_per_call=settings.claims_per_call.verbalized,
            )
    return probabilities


def scored(
    merged: Claims,
    rows: Rows,
    inside: Sequence[bool],
    probabilities: Sequence[float],
    centralities: Sequence[Centrality],
) -> tuple[Claim, ...]:
    """Do step 6: the claims with their confidence by ``centralities``."""
    support_lists = [list(row) for row in rows]
    scores: dict[str, list[float]] = {
        name: claim_confidence(support_lists, name) for name in centralities
    }
    return tuple(
        Claim(
            text=claim.text,
            sources=claim.sources,
            support=tuple(row[at] for row in rows),
            confidence={name: round(score[at], 12) for name, score in scores.items()},
            verbalized=probabilities[at] if probabilities else None,
            boundary=inside[at],
        )
        for at, claim in enumerate(merged)
    )


async def verify(work: QuestionState, indices: Sequence[int], settings: MethodSettings) -> None:
    """Do step 9: verify the claims at ``indices``, where the question has evidence."""
    context, claims = work.answer.first_look.context, list(work.answer.claims)
    if not context:
        return
    with step("verify"):
        verdicts = await verify_claims(
            work.text,
            [claims[i].text for i in indices],
            context,
            work.ask,
            claims_per_call=settings.claims_per_call.verify,
        )
    for i, verdict in zip(indices, verdicts, strict=True):
        claims[i] = claims[i].model_copy(update={"verdict": verdict})
    work.note(claims=tuple(claims))


async def verify_selected(
    work: QuestionState, choices: Sequence[Selection], settings: MethodSettings
) -> None:
    """Verify what was chosen, where not every claim has a verdict already."""
    if settings.verify == "selected":
        await verify(work, sorted({i for choice in choices for i in choice.selected}), settings)
