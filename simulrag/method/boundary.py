"""Step 7, simulator boundary assessment (SBA): could the simulator settle a claim?"""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.method.batches import batches, in_order
from simulrag.method.concurrency import together
from simulrag.models.base import Asker
from simulrag.models.replies import Boundary, BoundaryBatch, Verbalized


async def assess_boundaries(
    question: str, claims: Sequence[str], handbook: str, ask: Asker, *, claims_per_call: int
) -> list[bool]:
    """One judgement a claim, in order; with ``claims_per_call`` 1 each is asked by itself.

    Raises ModelError where a batch has no valid reply, so that no claim is judged by a guess.
    """
    if claims_per_call == 1:
        return await together(assess_boundary(question, text, handbook, ask) for text in claims)
    parts = await together(
        _assess_batch(question, part, handbook, ask) for part in batches(claims, claims_per_call)
    )
    return [inside for part in parts for inside in part]


async def assess_boundary(question: str, claim: str, handbook: str, ask: Asker) -> bool:
    """The model's judgement from the handbook alone; no simulator runs."""
    completion = await ask.ask(
        "boundary", Boundary, handbook=handbook, question=question, claim=claim
    )
    return bool(completion.parsed.tool_confidence)


async def _assess_batch(
    question: str, claims: Sequence[str], handbook: str, ask: Asker
) -> list[bool]:
    def check(reply: BoundaryBatch) -> None:
        in_order(reply.claims, len(claims))

    completion = await ask.ask(
        "boundary_batch",
        BoundaryBatch,
        check=check,
        handbook=handbook,
        question=question,
        claims=list(claims),
    )
    replies = in_order(completion.parsed.claims, len(claims))
    return [bool(reply.tool_confidence) for reply in replies]


async def verbalized_confidence(question: str, claim: str, ask: Asker) -> float:
    """The baseline score: the probability in [0, 1] that the model states for the claim."""
    completion = await ask.ask("verbalized", Verbalized, question=question, claim=claim)
    return float(completion.parsed.probability)
