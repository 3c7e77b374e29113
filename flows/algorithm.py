"""Algorithm 1 over many questions: a step and a chunk of questions at a time.

Selection stands between two passes, because its budget is a share of all claims. Steps that do
not need one another are taken side by side, so that a question waits for few calls in a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial

from flows.cluster import Workers
from flows.params import AnswerParams
from flows.progress import console, each
from flows.stage import Workbench, chunks
from flows.tracking import Tracker
from flows.work import State, Step, Steps, Work
from simulrag.method.answering import closed_book_answers
from simulrag.method.baselines import baseline_texts, first_sample_selection
from simulrag.method.boundary import assess_boundaries, verbalized_confidence
from simulrag.method.concurrency import together
from simulrag.method.confidence import claim_confidence
from simulrag.method.decomposition import decompose
from simulrag.method.entailment import support_matrix
from simulrag.method.merging import MergedClaim, merge_claims
from simulrag.method.retrieval import retrieve
from simulrag.method.selection import DECIDED, kappa_from_quantile, keep, select_claims
from simulrag.method.synthesis import synthesize
from simulrag.method.verification import verify_claims
from simulrag.records import CENTRALITIES, Answer, Claim, Failure, Question


async def answer_questions(
    questions: list[Question],
    bench: Workbench,
    params: AnswerParams,
    tracker: Tracker,
    chunk: int,
    *,
    workers: Workers | None = None,
) -> list[Answer]:
    """All steps for all questions. Selection comes between two passes: its budget is pooled.

    With ``workers`` the chunks of a step are worked there, side by side.
    """

    async def take(steps: Iterable[str]) -> None:
        await _take(works, tuple(steps), params, tracker=tracker, chunk=chunk, workers=workers)

    works = [Work(State(question, _empty(question)), bench) for question in questions]
    first = _first_pass(params)
    tracker.expect(len(works) * (len(first) + 1 + (params.verify == "selected")))
    for steps in first:
        await take(steps)
    bench.waiting.check(*(work.waiting for work in works))  # selection pools all questions
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
        await take(["verify"])
        bench.waiting.check(*(work.waiting for work in works))
    kappa = _kappa(works, params)
    for work in works:
        answer = work.answer
        if answer.failure is not None:  # its claims may have no confidence
            continue
        kept = keep(answer.claims, answer.selected, kappa, params.centrality)
        work.answer = work.with_(kept=kept, kappa=kappa)
    if params.baselines:
        firsts = first_sample_selection(
            [work.answer for work in works],
            budget_percent=params.budget_percent,
            by_question=params.pool == "question",
            seed=params.seed,
        )
        for work, own in zip(works, firsts, strict=True):
            work.first_sample = own
    await take(["synthesise", "compare"] if params.baselines else ["synthesise"])
    bench.waiting.check(*(work.waiting for work in works))
    return [work.answer for work in works]


def _first_pass(params: AnswerParams) -> list[Steps]:
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


async def _take(
    works: list[Work],
    names: Sequence[str],
    params: AnswerParams,
    *,
    tracker: Tracker,
    chunk: int,
    workers: Workers | None,
) -> None:
    label = ", ".join(names)
    steps = _steps(params, names)

    async def here(part: list[Work], span: str) -> None:
        await each(f"{label} {span}", part, lambda work: work.do(steps), tracker.advance)

    async def there(part: list[Work], span: str, workers: Workers) -> None:
        states = [work.state for work in part]
        after = await workers.run(partial(_take_states, states, names, params))
        for work, state in zip(part, after, strict=True):
            work.take_over(state)
            tracker.advance()
        console.print(f"  {label} {span}: {len(part)} done")

    spans = chunks(works, chunk)
    if workers is None:
        for span, part in spans:
            await tracker.step(f"{label} {span}", partial(here, part, span))
        return
    await together(
        tracker.step(f"{label} {span}", partial(there, part, span, workers)) for span, part in spans
    )


async def _take_states(
    states: list[State], names: Sequence[str], params: AnswerParams, bench: Workbench
) -> list[State]:
    """On a worker: the steps for a chunk of questions."""
    steps = _steps(params, names)
    works = [Work(state, bench) for state in states]
    await together(work.do(steps) for work in works)
    return [work.state for work in works]


def _steps(params: AnswerParams, names: Iterable[str]) -> Steps:
    """The steps of these names."""
    known: dict[str, Step] = {"verify": _verify_selected(params)}
    for steps in _first_pass(params):
        known |= steps
    known |= {"synthesise": _synthesise, "compare": _baselines(params)}
    return {name: known[name] for name in names}


def _empty(question: Question) -> Answer:
    return Answer(question_id=question.question_id, domain=question.domain)
