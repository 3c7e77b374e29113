"""Algorithm 1 of SimulRAG (Xu et al. 2025): draft a question, choose among all, conclude it.

``draft`` is what needs no other question: evidence, sampled answers, claims, confidence, boundary.
``choose`` spends the budgets over all questions and makes no call. ``conclude`` verifies, keeps and
writes. The stage, ``simulrag ask`` and ``simulrag.answer`` call the same three.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from simulators.base import SimulatorError
from simulrag.errors import ModelError
from simulrag.method.answering import closed_book_answers
from simulrag.method.baselines import (
    FinalWay,
    baseline_ways,
    final_texts,
    first_sample,
    first_sample_selection,
    first_sample_way,
)
from simulrag.method.boundary import assess_boundaries, verbalized_confidences
from simulrag.method.concurrency import both, together
from simulrag.method.confidence import claim_confidence
from simulrag.method.decomposition import decompose
from simulrag.method.entailment import support_matrix
from simulrag.method.merging import MergedClaim, merge_claims
from simulrag.method.retrieval import retrieve
from simulrag.method.selection import (
    DECIDED,
    Candidates,
    candidates_of,
    kappa_from_quantile,
    keep,
    select_among,
)
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.synthesis import synthesize
from simulrag.method.verification import verify_claims
from simulrag.models.base import Asker
from simulrag.models.counting import Counted
from simulrag.records import (
    CENTRALITIES,
    Answer,
    Choice,
    Claim,
    Failure,
    FinalText,
    Question,
)


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


def choose(drafts: Iterable[Answer], settings: MethodSettings) -> list[tuple[Choice, ...]]:
    """Step 8 for every draft: a choice a budget, ascending. A failed question selects nothing.

    Each draft is looked at once and not kept. By tau there is one choice.
    """
    pools: list[Candidates] = []
    firsts: list[tuple[int, ...]] = []
    for answer in drafts:
        pools.append(candidates_of([answer], settings.centrality))
        firsts.append(() if answer.failure is not None else first_sample(answer))
    kappa = _kappa(pools, settings)
    budgets = settings.final_budgets_percent
    by_budget = []
    for budget in budgets if settings.tau is None else budgets[-1:]:
        selected = select_among(
            pools, budget_percent=budget, pool=settings.pool, tau=settings.tau, seed=settings.seed
        )
        own = first_sample_selection(
            pools,
            firsts,
            budget_percent=budget,
            by_question=settings.pool == "question",
            seed=settings.seed,
        )
        named = budget if settings.tau is None else None
        by_budget.append(
            [
                Choice(budget_percent=named, selected=claims, first_sample=first, kappa=kappa)
                for claims, first in zip(selected, own, strict=True)
            ]
        )
    return list(zip(*by_budget, strict=True))


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
        _, others = await both(
            _synthesise(work, choices[-1], settings), _compare(work, choices, settings)
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
    with _step("merge"):
        merged = await merge_claims(tuple(sets), work.ask, settings.merging)
    rows, (inside, stated) = await both(
        _support(work, merged),
        both(_boundaries(work, merged, settings), _verbalized(work, merged, settings)),
    )
    scores = {name: claim_confidence(rows, name) for name in CENTRALITIES}
    claims = [
        Claim(
            text=claim.text,
            sources=claim.sources,
            support=tuple(row[at] for row in rows),
            confidence={name: round(scores[name][at], 12) for name in CENTRALITIES},
            verbalized=stated[at] if stated else None,
            boundary=inside[at],
        )
        for at, claim in enumerate(merged)
    ]
    work.note(claims=tuple(claims))


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
        verdicts = await verify_claims(
            work.text,
            [claims[i].text for i in indices],
            work.context,
            work.ask,
            claims_per_call=settings.claims_per_call.verify,
        )
    for i, verdict in zip(indices, verdicts, strict=True):
        claims[i] = claims[i].model_copy(update={"verdict": verdict})
    work.note(claims=tuple(claims))


def _kept(work: _Work, choice: Choice, settings: MethodSettings) -> tuple[int, ...]:
    return keep(work.answer.claims, choice.selected, choice.kappa, settings.centrality)


async def _written(work: _Work, kept: Sequence[int], selected: Sequence[int], ask: Asker) -> str:
    """The final answer from the kept claims, corrected where a selected one was contradicted."""
    claims, chosen = work.answer.claims, set(selected)
    texts = (claims[i].updated_text if i in chosen else claims[i].text for i in kept)
    return await synthesize(work.text, tuple(dict.fromkeys(texts)), ask)


async def _synthesise(work: _Work, choice: Choice, settings: MethodSettings) -> None:
    """The answer at the largest budget."""
    kept = _kept(work, choice, settings)
    work.note(
        budget_percent=choice.budget_percent,
        selected=choice.selected,
        kept=kept,
        kappa=choice.kappa,
    )
    verdicts = (work.answer.claims[i].verdict for i in choice.selected)
    with _step("synthesise"):
        final = await _written(work, kept, choice.selected, work.ask)
    verified = any(verdict is not None and verdict.status in DECIDED for verdict in verdicts)
    work.note(final=final, verified=verified)


async def _compare(
    work: _Work, choices: Sequence[Choice], settings: MethodSettings
) -> tuple[FinalText, ...]:
    """Answers at the smaller budgets and, where asked for, by one sample and by other methods.

    Their calls are counted in each text, not in the answer's own usage.
    """
    ways: list[FinalWay] = []
    if settings.baselines:
        ways += baseline_ways(work.text, work.answer, settings)
        ways += [
            way
            for choice in reversed(choices)
            for way in first_sample_way(work.text, work.answer, choice)
        ]
    for choice in choices[-2::-1]:
        kept = _kept(work, choice, settings)

        async def written(ask: Asker, kept: tuple[int, ...] = kept, choice: Choice = choice) -> str:
            return await _written(work, kept, choice.selected, ask)

        about = FinalText(
            method="simulrag",
            samples=len(work.answer.closed_book),
            budget_percent=choice.budget_percent,
            selected=choice.selected,
            kept=kept,
        )
        ways.append(FinalWay(about, written))
    return await final_texts(ways, work.use.ask)


def _kappa(pools: Sequence[Candidates], settings: MethodSettings) -> float:
    """The given kappa, or the quantile of confidence over the development questions.

    Those are drawn by the hash of their id, so that adding questions moves nobody; where none
    falls into the part (one question asked by hand), all questions are.
    """
    if settings.kappa is not None:
        return settings.kappa
    complete = [claims for claims in pools if len(claims)]
    part = [claims for claims in complete if _draw(claims.question[0]) < settings.kappa_development]
    scores = [score for claims in part or complete for score in claims.confidence]
    return kappa_from_quantile(scores, settings.kappa_quantile) if scores else 0.0


def _draw(question_id: str) -> float:
    digest = hashlib.sha256(f"development {question_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
