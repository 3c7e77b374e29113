"""Algorithm 1 over many questions: a step and a chunk of questions at a time.

Selection stands between two passes, because its budget is a share of all claims.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from flows.params import AnswerParams
from flows.progress import each
from flows.stage import Workbench, chunks
from flows.tracking import Tracker
from simulators.base import SimulatorError
from simulrag.errors import ModelError
from simulrag.method.answering import closed_book_answers
from simulrag.method.boundary import assess_boundary, verbalized_confidence
from simulrag.method.concurrency import together
from simulrag.method.confidence import claim_confidence
from simulrag.method.decomposition import decompose
from simulrag.method.entailment import support_matrix
from simulrag.method.merging import MergedClaim, merge_claims
from simulrag.method.retrieval import retrieve
from simulrag.method.selection import DECIDED, kappa_from_quantile, keep, select_claims
from simulrag.method.synthesis import synthesize
from simulrag.method.verification import verify_claim
from simulrag.models.counting import Counted
from simulrag.records import CENTRALITIES, Answer, Claim, Failure, Question

Step = Callable[["Work"], Awaitable[Answer]]


class Work:
    """One question on its way through the steps."""

    def __init__(self, question: Question, bench: Workbench) -> None:
        self.question = question
        self.bench = bench
        self.ask = Counted(bench.gateway)
        self.answer = Answer(question_id=question.question_id, domain=question.domain)

    async def do(self, name: str, step: Step) -> None:
        """Take one step. A typed error fails this question alone and stops its later steps."""
        if self.answer.failure is not None:
            return
        try:
            self.answer = await step(self)
        except (ModelError, SimulatorError) as error:
            self.answer = self.with_(failure=Failure(step=name, reason=str(error)))
        self.answer = self.with_(usage=dict(sorted(self.ask.usage.items())))

    def with_(self, **changes: object) -> Answer:
        """The answer so far with some fields replaced."""
        return self.answer.model_copy(update=changes)

    @property
    def context(self) -> str:
        """The simulator's text, empty where there is none."""
        return self.answer.retrieval.context if self.answer.retrieval else ""


async def answer_questions(
    questions: list[Question],
    bench: Workbench,
    params: AnswerParams,
    tracker: Tracker,
    chunk: int,
) -> list[Answer]:
    """All steps for all questions. Selection comes between two passes: its budget is pooled."""
    works = [Work(question, bench) for question in questions]
    for name, step in _first_pass(params):
        await _take(works, name, step, tracker, chunk)
    chosen = select_claims(
        [work.answer for work in works],
        centrality=params.centrality,
        budget_percent=params.budget_percent,
        pool=params.pool,
        tau=params.tau,
        seed=params.seed,
    )
    for work, selected in zip(works, chosen, strict=True):
        work.answer = work.with_(selected=selected)
    if params.verify == "selected":
        await _take(works, "verify", _verify_selected, tracker, chunk)
    kappa = _kappa(works, params)
    for work in works:
        answer = work.answer
        kept = keep(answer.claims, answer.selected, kappa, params.centrality)
        work.answer = work.with_(kept=kept, kappa=kappa)
    await _take(works, "synthesise", _synthesise, tracker, chunk)
    return [work.answer for work in works]


def _first_pass(params: AnswerParams) -> list[tuple[str, Step]]:
    async def retrieve_(work: Work) -> Answer:
        retrieval = await retrieve(
            work.question.text,
            work.ask,
            work.bench.runs,
            max_attempts=params.max_attempts,
            seed=work.bench.seed,
        )
        failure = None
        if retrieval.status == "failed":
            failure = Failure(step="retrieve", reason="; ".join(retrieval.problems))
        runs = len(retrieval.evidence)
        return work.with_(retrieval=retrieval, simulator_runs=runs, failure=failure)

    async def answer(work: Work) -> Answer:
        texts = await closed_book_answers(work.question.text, work.ask, params.samples)
        return work.with_(closed_book=texts)

    async def decompose_(work: Work) -> Answer:
        sets = await together(
            decompose(work.question.text, text, work.ask, limit=params.max_claims)
            for text in work.answer.closed_book
        )
        return work.with_(answer_claims=tuple(sets))

    async def merge(work: Work) -> Answer:
        merged = await merge_claims(work.answer.answer_claims, work.ask)
        claims = tuple(Claim(text=item.text, sources=item.sources) for item in merged)
        return work.with_(claims=claims)

    async def verify_all(work: Work) -> Answer:
        return await _verify(work, tuple(range(len(work.answer.claims))))

    steps: list[tuple[str, Step]] = [
        ("retrieve", retrieve_),
        ("answer", answer),
        ("decompose", decompose_),
        ("merge", merge),
        ("entail", _entail),
        ("assess", _assess(params.verbalized)),
    ]
    return [*steps, ("verify", verify_all)] if params.verify == "all" else steps


async def _entail(work: Work) -> Answer:
    """Support matrix and, from it, the confidence of each claim by each centrality."""
    claims = work.answer.claims
    merged = tuple(MergedClaim(claim.text, claim.sources) for claim in claims)
    support = await support_matrix(work.answer.closed_book, merged, work.ask)
    scores = {name: claim_confidence(support, name) for name in CENTRALITIES}
    scored = tuple(
        claim.model_copy(
            update={
                "support": tuple(row[i] for row in support),
                "confidence": {name: round(scores[name][i], 12) for name in CENTRALITIES},
            }
        )
        for i, claim in enumerate(claims)
    )
    return work.with_(claims=scored)


def _assess(verbalized: bool) -> Step:
    async def one(work: Work, claim: Claim) -> Claim:
        question = work.question.text
        boundary = await assess_boundary(question, claim.text, work.bench.handbook, work.ask)
        stated = None
        if verbalized:
            stated = await verbalized_confidence(question, claim.text, work.ask)
        return claim.model_copy(update={"boundary": boundary, "verbalized": stated})

    async def step(work: Work) -> Answer:
        claims = await together(one(work, claim) for claim in work.answer.claims)
        return work.with_(claims=tuple(claims))

    return step


async def _verify_selected(work: Work) -> Answer:
    return await _verify(work, work.answer.selected)


async def _verify(work: Work, indices: tuple[int, ...]) -> Answer:
    """Verdicts for the claims at ``indices``; none where the question has no evidence."""
    if not work.context:
        return work.answer
    claims = list(work.answer.claims)
    verdicts = await together(
        verify_claim(work.question.text, claims[i].text, work.context, work.ask) for i in indices
    )
    for i, verdict in zip(indices, verdicts, strict=True):
        claims[i] = claims[i].model_copy(update={"verdict": verdict})
    return work.with_(claims=tuple(claims))


def _kappa(works: list[Work], params: AnswerParams) -> float:
    """The given kappa, or the quantile of confidence over the development questions.

    Those are drawn by the hash of their id, so that adding questions moves nobody; where none
    falls into the part (one question asked by hand), all questions are.
    """
    if params.kappa is not None:
        return params.kappa
    complete = [work for work in works if work.answer.failure is None and work.answer.claims]
    part = [w for w in complete if _draw(w.question.question_id) < params.kappa_development]
    scores = [c.confidence[params.centrality] for w in part or complete for c in w.answer.claims]
    return kappa_from_quantile(scores, params.kappa_quantile) if scores else 0.0


def _draw(question_id: str) -> float:
    digest = hashlib.sha256(f"development {question_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


async def _synthesise(work: Work) -> Answer:
    """The final answer from the kept claims, corrected where a selected one was contradicted."""
    answer = work.answer
    selected = set(answer.selected)
    texts = tuple(
        answer.claims[i].updated_text if i in selected else answer.claims[i].text
        for i in answer.kept
    )
    verified = any(
        (verdict := answer.claims[i].verdict) is not None and verdict.status in DECIDED
        for i in answer.selected
    )
    final = await synthesize(work.question.text, tuple(dict.fromkeys(texts)), work.ask)
    return work.with_(final=final, verified=verified)


async def _take(works: list[Work], name: str, step: Step, tracker: Tracker, chunk: int) -> None:
    for span, part in chunks(works, chunk):

        async def work_on(part: list[Work] = part, span: str = span) -> None:
            await each(f"{name} {span}", part, lambda work: work.do(name, step))

        await tracker.step(f"{name} {span}", work_on)
