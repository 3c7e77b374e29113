"""The steps of Algorithm 1, each over one question.

Steps that do not need one another are taken side by side, so that a question waits for few calls
in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flows.params import AnswerParams
from flows.work import Step, Steps, Work
from simulrag.method.answering import closed_book_answers
from simulrag.method.baselines import baseline_texts
from simulrag.method.boundary import assess_boundaries, verbalized_confidence
from simulrag.method.concurrency import together
from simulrag.method.confidence import claim_confidence
from simulrag.method.decomposition import decompose
from simulrag.method.entailment import support_matrix
from simulrag.method.merging import MergedClaim, merge_claims
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
        merged = await merge_claims(work.answer.answer_claims, work.ask, params.merging)
        claims = tuple(Claim(text=item.text, sources=item.sources) for item in merged)
        return work.with_(claims=claims)

    scores: dict[str, Step] = {"entail": _entail, "assess": _assess(params)}
    if params.verbalized:
        scores["verbalize"] = _verbalize
    if params.verify == "all":
        scores["verify"] = _verify_all(params)
    return [
        {"retrieve": retrieve_, "answer": answer},
        {"decompose": decompose_},
        {"merge": merge},
        scores,
    ]


async def _entail(work: Work) -> Answer:
    """Support matrix and, from it, the confidence of each claim by each centrality."""
    merged = tuple(MergedClaim(claim.text, claim.sources) for claim in work.answer.claims)
    support = await support_matrix(work.answer.closed_book, merged, work.ask)
    scores = {name: claim_confidence(support, name) for name in CENTRALITIES}
    return work.with_claims(
        {
            i: {
                "support": tuple(row[i] for row in support),
                "confidence": {name: round(scores[name][i], 12) for name in CENTRALITIES},
            }
            for i in range(len(merged))
        }
    )


def _assess(params: AnswerParams) -> Step:
    async def step(work: Work) -> Answer:
        inside = await assess_boundaries(
            work.question.text,
            [claim.text for claim in work.answer.claims],
            work.bench.handbook,
            work.ask,
            claims_per_call=params.claims_per_call.boundary,
        )
        return work.with_claims({i: {"boundary": value} for i, value in enumerate(inside)})

    return step


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
