"""Algorithm 1 of SimulRAG (Xu et al. 2025): draft a question, choose among all, conclude it.

``draft`` is what needs no other question: evidence, sampled answers, claims, confidence, boundary.
``choose`` spends the budgets over all questions and makes no call. ``conclude`` verifies, keeps and
writes. The stage, ``simulrag ask`` and ``simulrag.answer`` call the same three.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from simulators.base import SimulatorError
from simulrag.errors import ModelError
from simulrag.method.answering import closed_book_answers
from simulrag.method.boundary import assess_boundaries, verbalized_confidences
from simulrag.method.checking import Rule, check_claims, has_readable_outputs, with_value
from simulrag.method.choosing import choose
from simulrag.method.concurrency import both, together
from simulrag.method.confidence import claim_confidence
from simulrag.method.decomposition import decompose
from simulrag.method.entailment import support_matrix
from simulrag.method.finals import Line, lines_of, texts_beside, write_line
from simulrag.method.joint import Joint, merge_jointly
from simulrag.method.merging import MergedClaim, merge_claims
from simulrag.method.reconciliation import vote_confidence
from simulrag.method.retrieval import retrieve
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.subjects import find_subjects
from simulrag.method.verification import verify_claims
from simulrag.models.base import Asker
from simulrag.models.counting import Counted
from simulrag.records import (
    CENTRALITIES,
    DECIDED,
    VOTES,
    Answer,
    Choice,
    Claim,
    Failure,
    Question,
    Subject,
    Verdict,
)

__all__ = ["Instruments", "answer_question", "choose", "conclude", "draft"]


@dataclass(frozen=True)
class Instruments:
    """The model that is asked and the simulator that is run, with the seed of its runs."""

    ask: Asker
    simulations: Simulations
    seed: int = 0


async def draft(question: Question, use: Instruments, settings: MethodSettings) -> Answer:
    """Steps 1 to 7, and with ``verify: all`` the verdicts, for one question.

    A failure of the model or the simulator is the answer's ``failure``. Raises CallsPending where
    calls wait for a batch, after all that needs no reply of theirs was asked.
    """
    work = _Work(question, use, Answer(question_id=question.question_id, domain=question.domain))
    with work.ending():
        await together([_retrieve(work, settings), _claims(work, settings)])
        if settings.verify == "all":
            await _verify(work, range(len(work.answer.claims)), settings)
    return work.answer


async def conclude(
    question: Question,
    drafted: Answer,
    choices: Sequence[Choice],
    use: Instruments,
    settings: MethodSettings,
) -> Answer:
    """Steps 9 and 10: verdicts on what was chosen, the kept claims and the final answers.

    The last choice, of the largest budget, makes ``final``; the others, m = 1 and the answers to
    compare with are in ``baselines``. A draft that failed stays as it is. Raises CallsPending as
    ``draft`` does.
    """
    if drafted.failure is not None:
        return drafted
    work = _Work(question, use, drafted)
    with work.ending():
        if settings.verify == "selected":
            wanted = sorted({claim for choice in choices for claim in choice.selected})
            await _verify(work, wanted, settings)
        lines = lines_of(work.answer, choices, settings)
        _, others = await both(
            _synthesise(work, lines[-1], settings),
            texts_beside(work.text, work.answer, lines, settings, use.ask),
        )
        work.note(baselines=others)
    return work.answer


async def answer_question(question: Question, use: Instruments, settings: MethodSettings) -> Answer:
    """All three for a question by itself, whose budgets are shares of its own claims."""
    drafted = await draft(question, use, settings)
    (choices,) = choose([drafted], settings)
    return await conclude(question, drafted, choices, use, settings)


class _StepFailed(Exception):  # noqa: N818 caught where the question's failure is noted
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class _Work:
    """One question on its way: its answer so far, and an asker that counts what it uses."""

    def __init__(self, question: Question, use: Instruments, answer: Answer) -> None:
        self.text = question.text
        self.use = use
        self.answer = answer
        self.ask = Counted(use.ask, answer.usage)

    @property
    def context(self) -> str:
        """The simulator's text, empty where there is none."""
        return self.answer.retrieval.context if self.answer.retrieval is not None else ""

    def note(self, **changes: object) -> None:
        """Replace fields of the answer."""
        self.answer = self.answer.model_copy(update=changes)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Around all steps: note the failure that ended them, and what was used."""
        try:
            yield
        except _StepFailed as error:
            self.note(failure=error.failure)
        self.note(usage=dict(sorted(self.ask.usage.items())))


@contextmanager
def _step(name: str) -> Iterator[None]:
    """A typed error in here is the question's failure at this step."""
    try:
        yield
    except (ModelError, SimulatorError) as error:
        raise _StepFailed(Failure(step=name, reason=str(error))) from None


async def _retrieve(work: _Work, settings: MethodSettings) -> None:
    with _step("retrieve"):
        retrieval = await retrieve(
            work.text,
            work.ask,
            work.use.simulations,
            max_attempts=settings.max_attempts,
            seed=work.use.seed,
        )
    work.note(retrieval=retrieval, simulator_runs=len(retrieval.evidence))
    if retrieval.status == "failed":
        raise _StepFailed(Failure(step="retrieve", reason="; ".join(retrieval.problems)))


async def _claims(work: _Work, settings: MethodSettings) -> None:
    """Samples, their claims, and what is known of each without the evidence."""
    with _step("answer"):
        texts = await closed_book_answers(work.text, work.ask, settings.samples)
    work.note(closed_book=texts)
    with _step("decompose"):
        sets = await together(
            decompose(work.text, text, work.ask, limit=settings.max_claims) for text in texts
        )
    work.note(answer_claims=tuple(sets))
    joint = None
    with _step("merge"):
        if settings.merging == "joint":
            joint = await merge_jointly(work.text, sets, work.ask)
            merged = joint.claims
        else:
            merged = await merge_claims(tuple(sets), work.ask, settings.merging)
    (rows, subjects), (inside, stated) = await both(
        _grouped(work, merged, joint, settings),
        both(_boundaries(work, merged, settings), _verbalized(work, merged, settings)),
    )
    scores: dict[str, list[float]] = {name: claim_confidence(rows, name) for name in CENTRALITIES}
    if settings.method == "reconciled":
        scores[VOTES] = vote_confidence(subjects, rows, len(merged))
    claims = [
        Claim(
            text=claim.text,
            sources=claim.sources,
            support=tuple(row[at] for row in rows),
            confidence={name: round(score[at], 12) for name, score in scores.items()},
            verbalized=stated[at] if stated else None,
            boundary=inside[at],
        )
        for at, claim in enumerate(merged)
    ]
    work.note(claims=tuple(claims), subjects=subjects)


async def _grouped(
    work: _Work, merged: Sequence[MergedClaim], joint: Joint | None, settings: MethodSettings
) -> tuple[list[list[bool]], tuple[Subject, ...]]:
    """Which answer supports which claim, and what the claims are about."""
    if joint is None:
        return await both(_support(work, merged), _subjects(work, merged, settings))
    subjects = joint.subjects if settings.method == "reconciled" else ()
    return [list(row) for row in joint.support], subjects


async def _subjects(
    work: _Work, merged: Sequence[MergedClaim], settings: MethodSettings
) -> tuple[Subject, ...]:
    if settings.method == "paper":
        return ()
    with _step("group"):
        return await find_subjects(work.text, [claim.text for claim in merged], work.ask)


async def _support(work: _Work, merged: Sequence[MergedClaim]) -> list[list[bool]]:
    with _step("score"):
        return await support_matrix(work.answer.closed_book, tuple(merged), work.ask)


async def _boundaries(
    work: _Work, merged: Sequence[MergedClaim], settings: MethodSettings
) -> list[bool]:
    simulator = work.use.simulations.simulator
    if not simulator.tools:  # nothing to verify a claim with
        return [False] * len(merged)
    with _step("assess"):
        return await assess_boundaries(
            work.text,
            [claim.text for claim in merged],
            simulator.handbook(),
            work.ask,
            claims_per_call=settings.claims_per_call.boundary,
        )


async def _verbalized(
    work: _Work, merged: Sequence[MergedClaim], settings: MethodSettings
) -> list[float]:
    if not settings.verbalized:
        return []
    with _step("verbalize"):
        return await verbalized_confidences(
            work.text,
            [claim.text for claim in merged],
            work.ask,
            claims_per_call=settings.claims_per_call.verbalized,
        )


async def _verify(work: _Work, indices: Sequence[int], settings: MethodSettings) -> None:
    """Verdicts for the claims at ``indices``; none where the question has no evidence."""
    if not work.context:
        return
    claims = list(work.answer.claims)
    with _step("verify"):
        verdicts = await _verdicts(work, [claims[i].text for i in indices], settings)
    for i, verdict in zip(indices, verdicts, strict=True):
        claims[i] = claims[i].model_copy(update={"verdict": verdict})
    work.note(claims=tuple(claims))


async def _verdicts(work: _Work, texts: Sequence[str], settings: MethodSettings) -> list[Verdict]:
    """By reading, by arithmetic, or by both at once."""
    size, tools = settings.claims_per_call.verify, work.use.simulations.simulator.tools

    def by_reading() -> Awaitable[list[Verdict]]:
        return verify_claims(work.text, texts, work.context, work.ask, claims_per_call=size)

    def by_arithmetic(rule: Rule) -> Awaitable[list[Verdict]]:
        return check_claims(
            work.text,
            texts,
            work.answer.evidence,
            tools,
            work.ask,
            by=rule,
            claims_per_call=size,
        )

    if settings.verify_by == "both":
        if not has_readable_outputs(work.answer.evidence, tools):
            return await by_reading()
        read, compared = await both(by_reading(), by_arithmetic("point"))
        return [with_value(one, other) for one, other in zip(read, compared, strict=True)]
    if settings.verify_by == "model":
        return await by_reading()
    return await by_arithmetic(settings.verify_by)


async def _synthesise(work: _Work, line: Line, settings: MethodSettings) -> None:
    """The answer itself."""
    with _step("synthesise"):
        final = await write_line(work.text, work.answer, line, settings, work.ask)
    verdicts = (work.answer.claims[i].verdict for i in final.selected)
    work.note(
        method=final.method,
        budget_percent=final.budget_percent,
        selected=final.selected,
        kept=final.kept,
        kappa=final.kappa,
        statements=final.statements,
        final=final.text,
        verified=any(verdict is not None and verdict.status in DECIDED for verdict in verdicts),
    )
