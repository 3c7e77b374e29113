"""The steps of Algorithm 1, each over one question.

Steps that do not need one another are taken side by side, so that a question waits for few calls
in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flows.params import AnswerParams
from flows.stages.work import NO_DRAFT, Step, Steps, Work
from simulrag.method.answering import closed_book_answers
from simulrag.method.baselines import baseline_texts
from simulrag.method.boundary import assess_boundaries, verbalized_confidence
from simulrag.method.concurrency import all_of, together
from simulrag.method.confidence import claim_confidence
from simulrag.method.decomposition import decompose
from simulrag.method.entailment import support_matrix
from simulrag.method.merging import covered_claims, joined, merge_but_last
from simulrag.method.retrieval import retrieve
from simulrag.method.selection import DECIDED
from simulrag.method.synthesis import synthesize
from simulrag.method.verification import verify_claims
from simulrag.records import CENTRALITIES, Answer, Claim, Failure


def steps_of(params: AnswerParams, names: Iterable[str]) -> Steps:
    """The steps of these names."""
    known: dict[str, Step] = {"verify": _verify_selected(params)}
    for steps in first_pass(params):
        known |= steps
    known |= {"synthesise": _synthesise, "compare": _baselines(params)}
    return {name: known[name] for name in names}


def first_pass(params: AnswerParams) -> list[Steps]:
    """What comes before selection, in order."""

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
        work.draft = await merge_but_last(work.answer.answer_claims, work.ask, params.merging)
        return work.answer

    rest: dict[str, Step] = {"assess": _assess(params)}
    if params.verbalized:
        rest["verbalize"] = _verbalize
    if params.verify == "all":
        rest["verify"] = _verify_all(params)
    return [
        {"retrieve": retrieve_, "answer": answer},
        {"decompose": decompose_},
        {"merge": merge},
        {"score": _score(params)},
        rest,
    ]


def _score(params: AnswerParams) -> Step:
    """The last call of merging, and beside it the calls that need nothing of it.

    The texts of all claims are known before: that call only tells which of them say the same. So
    entailment is asked for all, and boundary where that takes no further call; what was asked of a
    claim that another one covers is left out. A question waits for one call less in a row, for a
    few hundred tokens.
    """

    async def step(work: Work) -> Answer:
        first, second = work.draft
        every = (*first, *second)
        size = params.claims_per_call.boundary
        early = len(every) <= size and bool(second)

        async def boundaries() -> list[bool]:
            return await _boundaries(work, [claim.text for claim in every], size) if early else []

        covered, support, inside = await all_of(
            covered_claims(first, second, work.ask),
            support_matrix(work.answer.closed_book, every, work.ask),
            boundaries(),
        )
        stay = [i for i in range(len(every)) if i - len(first) not in covered]
        merged = joined(first, second, covered)
        rows = [
            [
                row[i] or any(source == answer for source, _ in claim.sources)
                for i, claim in zip(stay, merged, strict=True)
            ]
            for answer, row in enumerate(support)
        ]
        scores = {name: claim_confidence(rows, name) for name in CENTRALITIES}
        claims = tuple(
            Claim(
                text=claim.text,
                sources=claim.sources,
                support=tuple(row[at] for row in rows),
                confidence={name: round(scores[name][at], 12) for name in CENTRALITIES},
                boundary=inside[i] if early else None,
            )
            for at, (i, claim) in enumerate(zip(stay, merged, strict=True))
        )
        work.draft = NO_DRAFT
        return work.with_(claims=claims)

    return step


def _assess(params: AnswerParams) -> Step:
    """Boundaries that were not assessed beside merging."""

    async def step(work: Work) -> Answer:
        claims = work.answer.claims
        if all(claim.boundary is not None for claim in claims):
            return work.answer
        size = params.claims_per_call.boundary
        inside = await _boundaries(work, [claim.text for claim in claims], size)
        return work.with_claims({i: {"boundary": value} for i, value in enumerate(inside)})

    return step


async def _boundaries(work: Work, texts: Sequence[str], size: int) -> list[bool]:
    return await assess_boundaries(
        work.question.text, texts, work.bench.handbook, work.ask, claims_per_call=size
    )


async def _verbalize(work: Work) -> Answer:
    stated = await together(
        verbalized_confidence(work.question.text, claim.text, work.ask)
        for claim in work.answer.claims
    )
    return work.with_claims({i: {"verbalized": value} for i, value in enumerate(stated)})


def _verify_all(params: AnswerParams) -> Step:
    return lambda work: _verify(work, range(len(work.answer.claims)), params)


def _verify_selected(params: AnswerParams) -> Step:
    return lambda work: _verify(work, work.answer.selected, params)


async def _verify(work: Work, indices: Sequence[int], params: AnswerParams) -> Answer:
    """Verdicts for the claims at ``indices``; none where the question has no evidence."""
    if not work.context:
        return work.answer
    verdicts = await verify_claims(
        work.question.text,
        [work.answer.claims[i].text for i in indices],
        work.context,
        work.ask,
        claims_per_call=params.claims_per_call.verify,
    )
    return work.with_claims(
        {i: {"verdict": verdict} for i, verdict in zip(indices, verdicts, strict=True)}
    )


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


def _baselines(params: AnswerParams) -> Step:
    """Final answers by the other methods; their calls are no part of SimulRAG's own usage."""

    async def step(work: Work) -> Answer:
        texts = await baseline_texts(
            work.question.text,
            work.answer,
            work.first_sample,
            work.bench.gateway,
            limit=params.max_claims,
            merging=params.merging,
        )
        return work.with_(baselines=texts)

    return step
