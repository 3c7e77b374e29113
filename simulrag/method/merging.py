"""Step 4: the answers' claim sets into one set without repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from simulrag.method.concurrency import together
from simulrag.models.base import Asker
from simulrag.models.replies import ClaimPairs


@dataclass(frozen=True)
class MergedClaim:
    """A claim of the merged set and where it came from: (answer index, claim index) pairs."""

    text: str
    sources: tuple[tuple[int, int], ...]


Merging = Literal["chain", "tree"]


async def merge_claims(
    answer_claims: tuple[tuple[str, ...], ...], ask: Asker, merging: Merging = "chain"
) -> tuple[MergedClaim, ...]:
    """The union of the claim sets. The first wording of a claim stays; m sets cost m - 1 calls.

    ``chain``: one set after another into the growing one, m - 1 calls that wait for one another.
    ``tree``: neighbours in pairs, then the unions in pairs, log2(m) rounds rounded up. Both keep
    the order of first appearance; a model need not judge alike over the two, since it compares
    other lists (``simulrag.metrics.run_agreement`` measures by how much).
    """
    return await unite(*await merge_but_last(answer_claims, ask, merging), ask)


async def merge_but_last(
    answer_claims: tuple[tuple[str, ...], ...], ask: Asker, merging: Merging = "chain"
) -> tuple[tuple[MergedClaim, ...], tuple[MergedClaim, ...]]:
    """``merge_claims`` up to its last call: the two sets that ``unite`` makes one.

    Either is empty where there is nothing left to compare. Every claim of the union is in one of
    the two with its final text, so that steps that judge claims need not wait for the last call.
    """
    sets = [
        tuple(MergedClaim(text, ((answer, claim),)) for claim, text in enumerate(claims))
        for answer, claims in enumerate(answer_claims)
        if claims
    ]
    while len(sets) > 2:
        if merging == "chain":
            sets = [await unite(sets[0], sets[1], ask), *sets[2:]]
            continue
        pairs = zip(sets[::2], sets[1::2], strict=False)
        alone = sets[-1:] if len(sets) % 2 else []
        sets = [*await together(unite(a, b, ask) for a, b in pairs), *alone]
    first, second = [*sets, (), ()][:2]
    return first, second


async def unite(
    first: tuple[MergedClaim, ...], second: tuple[MergedClaim, ...], ask: Asker
) -> tuple[MergedClaim, ...]:
    """The first set and what the second adds to it; one call, none where one of them is empty."""
    return joined(first, second, await covered_claims(first, second, ask))


def joined(
    first: tuple[MergedClaim, ...], second: tuple[MergedClaim, ...], covered: Mapping[int, int]
) -> tuple[MergedClaim, ...]:
    """The union, where ``covered`` leads from a claim of the second set to one of the first."""
    merged = list(first)
    for index, claim in enumerate(second):
        existing = covered.get(index)
        if existing is None:
            merged.append(claim)
        else:
            old = merged[existing]
            merged[existing] = MergedClaim(old.text, (*old.sources, *claim.sources))
    return tuple(merged)


async def covered_claims(
    merged: tuple[MergedClaim, ...], claims: tuple[MergedClaim, ...], ask: Asker
) -> dict[int, int]:
    """New index -> existing index, for the new claims that an existing one covers."""
    if not merged or not claims:
        return {}

    def check(reply: ClaimPairs) -> None:
        for existing, new in reply.pairs:
            if not 0 <= existing < len(merged) or not 0 <= new < len(claims):
                raise ValueError(
                    f"pair [{existing}, {new}] is outside {len(merged)} existing and "
                    f"{len(claims)} new claims"
                )

    completion = await ask.ask(
        "merge",
        ClaimPairs,
        check=check,
        existing=[claim.text for claim in merged],
        new=[claim.text for claim in claims],
    )
    covered: dict[int, int] = {}
    for existing, new in completion.parsed.pairs:
        covered.setdefault(new, existing)
    return covered
