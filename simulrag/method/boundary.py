"""Step 7, simulator boundary assessment (SBA): could the simulator settle a claim?"""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.method.batches import ask_in_batches
from simulrag.method.concurrency import together
from simulrag.models.base import Asker
from simulrag.models.replies import Boundary, BoundaryBatch, Verbalized, VerbalizedBatch
from simulrag.task import Task

BOUNDARY = Task("boundary", Boundary, handbook=True, tokens=(1090, 9))
BOUNDARY_BATCH = Task("boundary_batch", BoundaryBatch, step="boundary", handbook=True)
VERBALIZED = Task("verbalized", Verbalized, tokens=(1400, 9))
VERBALIZED_BATCH = Task("verbalized_batch", VerbalizedBatch, step="verbalized")


async def assess_boundaries(
    question: str, claims: Sequence[str], handbook: str, ask: Asker, *, claims_per_call: int
) -> list[bool]:
    """One judgement a claim, in order, from the handbook; no simulator runs.

    With ``claims_per_call`` 1 each is asked by itself. Raises ModelError where a call has no valid
    reply, so that no claim is judged by a guess.
    """
    if claims_per_call > 1:
        replies = await ask_in_batches(
            BOUNDARY_BATCH,
            claims,
            ask,
            claims_per_call=claims_per_call,
            handbook=handbook,
            question=question,
        )
        return [bool(reply.tool_confidence) for reply in replies]
    completions = await together(
        ask.ask(BOUNDARY, handbook=handbook, question=question, claim=text) for text in claims
    )
    return [bool(completion.parsed.tool_confidence) for completion in completions]


async def verbalized_confidences(
    question: str, claims: Sequence[str], ask: Asker, *, claims_per_call: int
) -> list[float]:
    """The baseline score: for each claim the probability in [0, 1] that the model states."""
    if claims_per_call > 1:
        replies = await ask_in_batches(
            VERBALIZED_BATCH,
            claims,
            ask,
            claims_per_call=claims_per_call,
            question=question,
        )
        return [float(reply.probability) for reply in replies]
    completions = await together(
        ask.ask(VERBALIZED, question=question, claim=text) for text in claims
    )
    return [float(completion.parsed.probability) for completion in completions]
