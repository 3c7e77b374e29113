"""Step 7, simulator boundary assessment (SBA): could the simulator settle a claim?"""

from __future__ import annotations

from simulrag.models.base import Asker
from simulrag.models.replies import Boundary, Verbalized


async def assess_boundary(question: str, claim: str, handbook: str, ask: Asker) -> bool:
    """The model's judgement from the handbook alone; no simulator runs."""
    completion = await ask.ask(
        "boundary", Boundary, handbook=handbook, question=question, claim=claim
    )
    return bool(completion.parsed.tool_confidence)


async def verbalized_confidence(question: str, claim: str, ask: Asker) -> float:
    """The baseline score: the probability in [0, 1] that the model states for the claim."""
    completion = await ask.ask("verbalized", Verbalized, question=question, claim=claim)
    return float(completion.parsed.probability)
