"""Step 4: the answers' claim sets into one set without repetitions."""

from __future__ import annotations

from dataclasses import dataclass

from simulrag.models.base import Asker
from simulrag.models.replies import ClaimPairs


@dataclass(frozen=True)
class MergedClaim:
    """A claim of the merged set and where it came from: (answer index, claim index) pairs."""

    text: str
    sources: tuple[tuple[int, int], ...]


async def merge_claims(
    answer_claims: tuple[tuple[str, ...], ...], ask: Asker
) -> tuple[MergedClaim, ...]:
    """Merge one set after another into the growing set. The first wording of a claim stays."""
    merged: list[MergedClaim] = []
    for answer_index, claims in enumerate(answer_claims):
        if not claims:
            continue
        covered_by = await _covered(merged, claims, ask) if merged else {}
        for claim_index, text in enumerate(claims):
            source = (answer_index, claim_index)
            existing = covered_by.get(claim_index)
            if existing is None:
                merged.append(MergedClaim(text, (source,)))
            else:
                old = merged[existing]
                merged[existing] = MergedClaim(old.text, (*old.sources, source))
    return tuple(merged)


async def _covered(
    merged: list[MergedClaim], claims: tuple[str, ...], ask: Asker
) -> dict[int, int]:
    """New index -> existing index, for the new claims that an existing one covers."""

    def check(reply: ClaimPairs) -> None:
        for existing, new in reply.pairs:
            if not 0 <= existing < len(merged) or not 0 <= new < len(claims):
                raise ValueError(
                    f"pair [{existing}, {new}] is outside {len(merged)} existing and "
                    f"{len(claims)} new claims"
                )

    completion = await ask.ask(
        "merge", ClaimPairs, check=check, existing=[c.text for c in merged], new=list(claims)
    )
    covered: dict[int, int] = {}
    for existing, new in completion.parsed.pairs:
        covered.setdefault(new, existing)
    return covered
