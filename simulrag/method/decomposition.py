"""Step 3: an answer into atomic claims that answer the question."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.records import claim_hash
from simulrag.stand_in import Prompted, sentences
from simulrag.task import Task


class DecomposedClaim(Reply):
    """One atomic claim."""

    claim: Text


class Decomposition(Reply):
    """Reply to ``decompose`` and ``evaluation_decompose``."""

    claims: list[DecomposedClaim]


def _by_sentence(prompted: Prompted) -> object:
    most = re.search(r"more than (\d+)", prompted.messages[-1].content)
    texts = sentences(prompted.text("answer"))[: int(most[1]) if most else None]
    return {"claims": [{"claim": text} for text in texts]}


DECOMPOSE = Task("decompose", Decomposition, tokens=300, stand_in=_by_sentence)
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


def _check_limit(reply: Decomposition, limit: int) -> None:
    if len(reply.claims) > limit:
        raise ValueError(f"{len(reply.claims)} claims where at most {limit} are allowed")


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
