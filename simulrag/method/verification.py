"""Step 9: verify claims against the simulator's context, and correct those that are wrong."""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.errors import ModelError
from simulrag.method.batches import batches, in_order
from simulrag.method.concurrency import together
from simulrag.models.base import Asker
from simulrag.models.replies import Verification, VerificationBatch
from simulrag.records import Verdict, claim_hash


async def verify_claims(
    question: str, claims: Sequence[str], context: str, ask: Asker, *, claims_per_call: int
) -> list[Verdict]:
    """One verdict a claim, in order; with ``claims_per_call`` 1 each is verified by itself.

    Then a call that failed is that claim's error. In a batch it fails them all, which would pass
    a question as complete that hardly is, so it is raised (ModelError) and the question fails.
    """
    if claims_per_call == 1:
        return await together(verify_claim(question, text, context, ask) for text in claims)
    parts = await together(
        _verify_batch(question, part, context, ask) for part in batches(claims, claims_per_call)
    )
    return [verdict for part in parts for verdict in part]


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


async def _verify_batch(
    question: str, claims: Sequence[str], context: str, ask: Asker
) -> list[Verdict]:
    def check(reply: VerificationBatch) -> None:
        in_order(reply.claims, len(claims))

    completion = await ask.ask(
        "verify_batch",
        VerificationBatch,
        check=check,
        question=question,
        context=context,
        claims=list(claims),
    )
    replies = in_order(completion.parsed.claims, len(claims))
    return [read_verdict(claim, reply) for claim, reply in zip(claims, replies, strict=True)]


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
