"""Verification of one claim against a simulator's evidence."""

from __future__ import annotations

from pydantic import JsonValue

from simulrag.models.offline.comparing import checks
from simulrag.models.offline.correction import corrected
from simulrag.models.offline.phrasing import canonical

_PASSES = 3
"""How often a correction is read again for words that it made wrong."""


def verify(question: str, evidence: str, claim: str) -> dict[str, JsonValue]:
    """The reply to ``verify``: included only where the evidence decides some part of the claim.

    Parts are numbers, directions, classes by the question's thresholds, land or sea, the named
    initial trend and the order of two cases. Whatever else the claim says is left as it is.
    """
    read, found = claim, checks(claim, question, evidence)
    # The claim keeps its own words unless its number can be read in no other way.
    if not any(item.part == "number" for item in found):
        worded = checks(canonical(claim), question, evidence)
        if any(item.part == "number" for item in worded):
            read, found = canonical(claim), worded
    failed = [item for item in found if not item.holds]
    updated = claim
    for _ in range(_PASSES):
        if not failed:
            break
        updated = corrected(read, failed)
        if updated.startswith("It is not the case"):
            break
        # A number put right may leave the words beside it wrong ('a rise of 74 to 66 s').
        read = updated
        failed = [item for item in checks(read, question, evidence) if not item.holds]
    return {
        "is_included": bool(found),
        "should_update": updated != claim,
        "updated_claim": updated,
    }
