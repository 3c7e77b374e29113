"""Step 7, simulator boundary assessment (SBA): could the simulator settle a claim?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field, StrictInt

from simulrag.method.asking import ask_of_each
from simulrag.models.base import Asker
from simulrag.models.replies import Numbered, Reply
from simulrag.stand_in import OPEN, Prompted, draw
from simulrag.task import Task


class Boundary(Reply):
    """Reply to ``boundary``."""

    tool_confidence: Annotated[StrictInt, Field(ge=0, le=1)]


class NumberedBoundary(Boundary, Numbered):
    """One claim's part of a BoundaryBatch."""


class BoundaryBatch(Reply):
    """Reply to ``boundary_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedBoundary]


class Verbalized(Reply):
    """Reply to ``verbalized``."""

    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class NumberedProbability(Verbalized, Numbered):
    """One claim's part of a VerbalizedBatch."""


class VerbalizedBatch(Reply):
    """Reply to ``verbalized_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedProbability]


OUT_OF_REACH = 8
"""Of the recorded answers' claims one in so many."""


def _inside(claim: str) -> dict[str, object]:
    return {"tool_confidence": int(OPEN not in claim and draw(claim) % OUT_OF_REACH > 0)}


def _likely(claim: str) -> dict[str, object]:
    return {"probability": draw(claim) % 101 / 100}


def _of_each(judged: Callable[[str], dict[str, object]]) -> Callable[[Prompted], object]:
    def stand_in(prompted: Prompted) -> object:
        claims = enumerate(prompted.listed("claims"))
        return {"claims": [{"index": index, **judged(text)} for index, text in claims]}

    return stand_in


BOUNDARY = Task(
    "boundary", Boundary, tokens=9, stand_in=lambda prompted: _inside(prompted.text("claim"))
)
BOUNDARY_BATCH = Task("boundary_batch", BoundaryBatch, step="boundary", stand_in=_of_each(_inside))
VERBALIZED = Task(
    "verbalized", Verbalized, tokens=9, stand_in=lambda prompted: _likely(prompted.text("claim"))
)
VERBALIZED_BATCH = Task(
    "verbalized_batch", VerbalizedBatch, step="verbalized", stand_in=_of_each(_likely)
)


async def assess_boundaries(
    question: str, claims: Sequence[str], handbook: str, ask: Asker, *, claims_per_call: int
) -> list[bool]:
    """One judgement a claim, in order, from the handbook; no simulator runs.

    Raises ModelError where a call has no valid reply, so that no claim is judged by a guess.
    """
    replies = await ask_of_each(
        BOUNDARY,
        BOUNDARY_BATCH,
        claims,
        ask,
        claims_per_call=claims_per_call,
        handbook=handbook,
        question=question,
    )
    return [bool(reply.tool_confidence) for reply in replies]


async def verbalized_confidences(
    question: str, claims: Sequence[str], ask: Asker, *, claims_per_call: int
) -> list[float]:
    """The baseline score: for each claim the probability in [0, 1] that the model states."""
    replies = await ask_of_each(
        VERBALIZED,
        VERBALIZED_BATCH,
        claims,
        ask,
        claims_per_call=claims_per_call,
        question=question,
    )
    return [float(reply.probability) for reply in replies]
