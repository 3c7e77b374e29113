"""Steps 7 and 9: what the simulator could settle, and what its context settles.

Step 7 is the simulator boundary assessment (SBA). Step 9 verifies claims against the simulator's
context, and corrects those that are wrong. Beside them stands the confidence that the model states,
a baseline of the boundary's form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from simulrag.errors import ModelError
from simulrag.method.asking import ask_in_batches, ask_of_each, together
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, Numbered, Reply
from simulrag.records import Verdict, claim_hash
from simulrag.stand_in import OPEN, RIGHT, Prompted, draw, finding, sentence
from simulrag.task import Task


class Boundary(Reply):
    """Reply to ``boundary``."""

    tool_confidence: Annotated[StrictInt, Field(ge=0, le=1)]


class NumberedBoundary(Boundary, Numbered):
    """One claim's part of a BoundaryBatch."""


class BoundaryBatch(Batch):
    """Reply to ``boundary_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedBoundary]


class Verbalized(Reply):
    """Reply to ``verbalized``."""

    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class NumberedProbability(Verbalized, Numbered):
    """One claim's part of a VerbalizedBatch."""


class VerbalizedBatch(Batch):
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
    """Judge each claim, in order, from the handbook; no simulator runs.

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
    """Ask for the baseline score: of each claim the probability in [0, 1] that the model states."""
    replies = await ask_of_each(
        VERBALIZED,
        VERBALIZED_BATCH,
        claims,
        ask,
        claims_per_call=claims_per_call,
        question=question,
    )
    return [float(reply.probability) for reply in replies]


class Verification(Reply):
    """Reply to ``verify``."""

    is_included: StrictBool
    should_update: StrictBool
    updated_claim: StrictStr


class NumberedVerification(Verification, Numbered):
    """One claim's part of a VerificationBatch."""


class VerificationBatch(Batch):
    """Reply to ``verify_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedVerification]


def _each(prompted: Prompted) -> object:
    claims = enumerate(prompted.listed("claims"))
    return {"claims": [{"index": index, **_judged(text)} for index, text in claims]}


def _judged(claim: str) -> dict[str, object]:
    verdict = finding(claim)
    updated = f"{RIGHT} {sentence(claim)}" if verdict == "wrong" else ""
    return {
        "is_included": verdict != "open",
        "should_update": verdict == "wrong",
        "updated_claim": updated,
    }


VERIFY = Task(
    "verify",
    Verification,
    tokens=27,
    stand_in=lambda prompted: _judged(prompted.text("claim")),
)
VERIFY_BATCH = Task("verify_batch", VerificationBatch, step="verify", stand_in=_each)


async def verify_claims(
    question: str, claims: Sequence[str], context: str, ask: Asker, *, claims_per_call: int
) -> list[Verdict]:
    """Verify each claim, in order; with ``claims_per_call`` 1 each is verified by itself.

    A verdict depends on the claim and the context, not on who selected it; the question is shown
    because its thresholds decide classes. By itself, a call that failed is that claim's error,
    never an aligned or contradicted one. In a batch it would fail them all, and pass a question as
    complete that hardly is, so it is raised (ModelError) and the question fails.
    """
    if claims_per_call == 1:
        return await together(_verify(question, text, context, ask) for text in claims)
    replies = await ask_in_batches(
        VERIFY_BATCH,
        claims,
        ask,
        claims_per_call=claims_per_call,
        question=question,
        context=context,
    )
    return [read_verdict(claim, reply) for claim, reply in zip(claims, replies, strict=True)]


async def _verify(question: str, claim: str, context: str, ask: Asker) -> Verdict:
    try:
        completion = await ask.ask(VERIFY, question=question, context=context, claim=claim)
    except ModelError as error:
        return Verdict(status="error", reason=str(error))
    return read_verdict(claim, completion.parsed)


def read_verdict(claim: str, reply: Verification) -> Verdict:
    """Read a reply: not included, aligned, contradicted; anything else is an error."""
    if not reply.is_included:
        return Verdict(status="indeterminate")
    if not reply.should_update:
        return Verdict(status="aligned")
    updated = " ".join(reply.updated_claim.split())
    if updated and claim_hash(updated) != claim_hash(claim):
        return Verdict(status="contradicted", updated_claim=updated)
    return Verdict(status="error", reason="an update was announced and none was given")
