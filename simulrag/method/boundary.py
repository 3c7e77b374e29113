"""Step 7, simulator boundary assessment (SBA): could the simulator settle a claim?"""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.method.batches import ask_in_batches
from simulrag.method.concurrency import together
from simulrag.models.base import Asker
from simulrag.models.replies import Boundary, BoundaryBatch, Verbalized, VerbalizedBatch


async def assess_boundaries(
    question: str, claims: Sequence[str], handbook: str, ask: Asker, *, claims_per_call: int
) -> list[bool]:
    """One judgement a claim, in order, from the handbook; no simulator runs.

    With ``claims_per_call`` 1 each is asked by itself. Raises ModelError where a call has no valid
    reply, so that no claim is judged by a guess.
    """
    if claims_per_call > 1:
        replies = await ask_in_batches(
            "boundary_batch",
            BoundaryBatch,
            claims,
            ask,
            claims_per_call=claims_per_call,
            handbook=handbook,
            question=question,
        )
        return [bool(reply.tool_confidence) for reply in replies]
    completions = await together(
        ask.ask("boundary", Boundary, handbook=handbook, question=question, claim=text)
        for text in claims
    )
    return [bool(completion.parsed.tool_confidence) for completion in completions]


async def verbalized_confidences(
    question: str, claims: Sequence[str], ask: Asker, *, claims_per_call: int
) -> list[float]:
    """The baseline score: for each claim the probability in [0, 1] that the model states."""
    if claims_per_call > 1:
        replies = await ask_in_batches(
            "verbalized_batch",
            VerbalizedBatch,
            claims,
            ask,
            claims_per_call=claims_per_call,
            question=question,
        )
        return [float(reply.probability) for reply in replies]
    completions = await together(
        ask.ask("verbalized", Verbalized, question=question, claim=text) for text in claims
    )
    return [float(completion.parsed.probability) for completion in completions]
