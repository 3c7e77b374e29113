"""Step 3: an answer into atomic claims that answer the question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulrag.method.asking import ask_in_batches, together
from simulrag.models.base import Asker
from simulrag.models.replies import Numbered, Reply, Text
from simulrag.records import claim_hash
from simulrag.stand_in import Prompted, sentences
from simulrag.task import Task


class DecomposedClaim(Reply):
    """One atomic claim."""

    claim: Text


class Decomposition(Reply):
    """Reply to ``decompose`` and ``evaluation_decompose``."""

    claims: list[DecomposedClaim]


class NumberedDecomposition(Decomposition, Numbered):
    """One answer's part of a DecompositionBatch."""


class DecompositionBatch(Reply):
    """Reply to ``decompose_batch``; each answer's number has to be there exactly once."""

    answers: list[NumberedDecomposition]


def _by_sentence(prompted: Prompted) -> object:
    return _split(prompted.values["answer"], prompted.values.get("limit"))


def _split(answer: str, limit: int | None) -> dict[str, object]:
    return {"claims": [{"claim": text} for text in sentences(answer)[:limit]]}


def _each_by_sentence(prompted: Prompted) -> object:
    limit, answers = prompted.values["limit"], enumerate(prompted.values["answers"])
    return {"answers": [{"index": at, **_split(answer, limit)} for at, answer in answers]}


DECOMPOSE = Task("decompose", Decomposition, tokens=300, stand_in=_by_sentence)
DECOMPOSE_BATCH = Task(
    "decompose_batch",
    DecompositionBatch,
    step="decompose",
    stand_in=_each_by_sentence,
)
EVALUATION_DECOMPOSE = Task(
    "evaluation_decompose", Decomposition, tokens=420, stand_in=_by_sentence
)


async def decompose(question: str, answer: str, ask: Asker, *, limit: int) -> tuple[str, ...]:
    """At most ``limit`` claims in the answer's order, repetitions removed, never padded."""

    completion = await ask.ask(
        DECOMPOSE,
        check=lambda reply: _check_limit(reply, limit),
        question=question,
        answer=answer,
        limit=limit,
    )
    return distinct_texts(item.claim for item in completion.parsed.claims)


async def decompose_all(
    question: str, answers: Sequence[str], ask: Asker, *, limit: int, answers_per_call: int
) -> list[tuple[str, ...]]:
    """``decompose`` for several answers, in order; with ``answers_per_call`` 1 each by itself."""
    if answers_per_call == 1:
        return await together(decompose(question, text, ask, limit=limit) for text in answers)
    replies: list[NumberedDecomposition] = await ask_in_batches(
        DECOMPOSE_BATCH,
        answers,
        ask,
        listed="answers",
        claims_per_call=answers_per_call,
        check_each=lambda reply: _check_limit(reply, limit, f"answer {reply.index}: "),
        question=question,
        limit=limit,
    )
    return [distinct_texts(item.claim for item in reply.claims) for reply in replies]


def _check_limit(reply: Decomposition, limit: int, where: str = "") -> None:
    if len(reply.claims) > limit:
        raise ValueError(f"{where}{len(reply.claims)} claims where at most {limit} are allowed")


async def decompose_final(question: str, answer: str, ask: Asker) -> tuple[str, ...]:
    """Every claim of a final answer: the evaluation's decomposition, without a cap."""
    if not answer.strip():
        return ()
    completion = await ask.ask(EVALUATION_DECOMPOSE, question=question, answer=answer)
    return distinct_texts(item.claim for item in completion.parsed.claims)


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts in order without repetition (white space and case aside) and without blanks."""
    kept: dict[str, str] = {}
    for text in texts:
        if text.strip():
            kept.setdefault(claim_hash(text), " ".join(text.split()))
    return tuple(kept.values())
