"""Verification of one claim against a simulator's evidence."""

from __future__ import annotations

from pydantic import JsonValue

from simulrag.models.offline.comparing import checks
from simulrag.models.offline.correction import corrected


def verify(question: str, evidence: str, claim: str) -> dict[str, JsonValue]:
    """The reply to ``verify``: included only where the evidence decides some part of the claim.

    Parts are numbers, directions, classes by the question's thresholds, land or sea, the named
    initial trend and the order of two cases. Whatever else the claim says is left as it is.
    """
    found = checks(claim, question, evidence)
    failed = [item for item in found if not item.holds]
    return {
        "is_included": bool(found),
        "should_update": bool(failed),
        "updated_claim": corrected(claim, failed) if failed else claim,
    }
