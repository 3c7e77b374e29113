"""Steps 3 to 5: answers into atomic claims, the claims into one set, and who supports which.

Claims are atomic and answer the question (step 3). The answers' sets become one without repetitions
(step 4). Which answer supports which claim is a bipartite matrix (step 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from simulrag.method.asking import ask_in_batches, together
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, Reply, Text
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
    """Find every claim of a final answer: the evaluation's decomposition, without a cap."""
    if not answer.strip():
        return ()
    completion = await ask.ask(EVALUATION_DECOMPOSE, question=question, answer=answer)
    return distinct_texts(item.claim for item in completion.parsed.claims)


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Keep the texts in order, without repetition (white space and case aside) and blanks."""
    kept: dict[str, str] = {}
    for text in texts:
        if text.strip():
            kept.setdefault(claim_hash(text), " ".join(text.split()))
    return tuple(kept.values())


class ClaimPairs(Reply):
    """Reply to ``merge``: [existing index, new index] where the existing claim covers the new."""

    pairs: list[Annotated[list[StrictInt], Field(min_length=2, max_length=2)]]


def _equal(prompted: Prompted) -> object:
    existing = prompted.listed("existing")
    new = enumerate(prompted.listed("new"))
    return {"pairs": [[existing.index(text), at] for at, text in new if text in existing]}


MERGE = Task("merge", ClaimPairs, tokens=20, stand_in=_equal)


@dataclass(frozen=True)
class MergedClaim:
    """A claim of the merged set and where it came from: (answer index, claim index) pairs."""

    text: str
    sources: tuple[tuple[int, int], ...]


Claims = tuple[MergedClaim, ...]


async def merge_claims(answer_claims: tuple[tuple[str, ...], ...], ask: Asker) -> Claims:
    """Unite the claim sets. The first wording of a claim stays; m sets cost m - 1 calls.

    Neighbours are merged in pairs, then the unions in pairs, log2(m) rounds rounded up, in the
    order of first appearance.
    """
    sets = [
        tuple(MergedClaim(text, ((answer, claim),)) for claim, text in enumerate(claims))
        for answer, claims in enumerate(answer_claims)
        if claims
    ]
    while len(sets) > 1:
        pairs = zip(sets[::2], sets[1::2], strict=False)
        unpaired = sets[-1:] if len(sets) % 2 else []
        sets = [*await together(_unite(a, b, ask) for a, b in pairs), *unpaired]
    return sets[0] if sets else ()


async def _unite(first: Claims, second: Claims, ask: Asker) -> Claims:
    """Add to the first set what the second has beside it, by one call."""

    def check(reply: ClaimPairs) -> None:
        for existing, new in reply.pairs:
            if not 0 <= existing < len(first) or not 0 <= new < len(second):
                raise ValueError(
                    f"pair [{existing}, {new}] is outside {len(first)} existing and "
                    f"{len(second)} new claims"
                )

    completion = await ask.ask(
        MERGE,
        check=check,
        existing=[claim.text for claim in first],
        new=[claim.text for claim in second],
    )
    covered: dict[int, int] = {}
    for existing, new in completion.parsed.pairs:
        covered.setdefault(new, existing)
    merged = list(first)
    for index, claim in enumerate(second):
        if index not in covered:
            merged.append(claim)
        else:
            old = merged[covered[index]]
            merged[covered[index]] = MergedClaim(old.text, (*old.sources, *claim.sources))
    return tuple(merged)


class Entailment(Batch):
    """Reply to ``entailment``: one boolean a claim, in order."""

    supported: list[StrictBool]

    def by_claim(self, count: int) -> dict[int, bool]:
        """See Batch: with another number of booleans it is open which claims they are of."""
        return {} if self.problem(count) else dict(enumerate(self.supported))

    def problem(self, count: int) -> str:
        """See Batch."""
        given = len(self.supported)
        return "" if given == count else f"{given} booleans for {count} claims"


def _none(prompted: Prompted) -> object:
    return {"supported": [False] * len(prompted.listed("claims"))}


ENTAILMENT = Task("entailment", Entailment, tokens=25, stand_in=_none)


async def support_matrix(
    answers: tuple[str, ...], claims: tuple[MergedClaim, ...], ask: Asker
) -> list[list[bool]]:
    """``support[answer][claim]``: does the answer support the claim.

    The pair that a claim came from is true and is not asked. One call an answer about the rest,
    none where nothing is left.
    """
    origins = [frozenset(answer for answer, _ in claim.sources) for claim in claims]
    return await together(
        _row(answer, [a in origin for origin in origins], claims, ask)
        for a, answer in enumerate(answers)
    )


async def _row(
    answer: str, own: list[bool], claims: tuple[MergedClaim, ...], ask: Asker
) -> list[bool]:
    texts = [claim.text for claim, known in zip(claims, own, strict=True) if not known]
    if not texts:
        return own
    replies = iter(
        await ask_in_batches(ENTAILMENT, texts, ask, claims_per_call=len(texts), answer=answer)
    )
    return [known or next(replies) for known in own]
