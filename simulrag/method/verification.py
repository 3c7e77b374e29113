"""Step 9: verify one claim against the simulator's context, and correct it where it is wrong."""

from __future__ import annotations

from simulrag.errors import ModelError
from simulrag.models.base import Asker
from simulrag.models.replies import Verification
from simulrag.records import Verdict, claim_hash


async def verify_claim(question: str, claim: str, context: str, ask: Asker) -> Verdict:
    """The verdict on one claim. It depends on the claim and the context, not on who selected it.

    The question is shown because its thresholds decide classes. A call that failed is an error
    verdict, never an aligned or contradicted one; being a failure, it is asked again next time.
    """
    try:
        completion = await ask.ask(
            "verify", Verification, question=question, context=context, claim=claim
        )
    except ModelError as error:
        return Verdict(status="error", reason=str(error))
    return read_verdict(claim, completion.parsed)


def read_verdict(claim: str, reply: Verification) -> Verdict:
    """What a reply means: not included, aligned, contradicted; anything else is an error."""
    if not reply.is_included:
        return Verdict(status="indeterminate")
    if not reply.should_update:
        return Verdict(status="aligned")
    updated = " ".join(reply.updated_claim.split())
    if updated and claim_hash(updated) != claim_hash(claim):
        return Verdict(status="contradicted", updated_claim=updated)
    return Verdict(status="error", reason="an update was announced and none was given")
