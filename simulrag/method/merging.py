"""Step 4: the answers' claim sets into one set without repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StrictInt

from simulrag.method.asking import together
from simulrag.models.base import Asker
from simulrag.models.replies import Reply
from simulrag.stand_in import Prompted
from simulrag.task import Task


class ClaimPairs(Reply):
    """Reply to ``merge``: [existing index, new index] where the existing claim covers the new."""

    pairs: list[Annotated[list[StrictInt], Field(min_length=2, max_length=2)]]


def _equal(prompted: Prompted) -> object:
    existing = prompted.listed("existing")
    new = enumerate(prompted.listed("new"))
    return {"pairs": [[existing.index(text), at] for at, text in new if text in existing]}


MERGE = Task("merge", ClaimPairs, tokens=20, stand_in=_equal)


@dataclass(frozen=True)
class MergedClaim:
    """A claim of the merged set and where it came from: (answer index, claim index) pairs."""

    text: str
    sources: tuple[tuple[int, int], ...]


Claims = tuple[MergedClaim, ...]


async def merge_claims(answer_claims: tuple[tuple[str, ...], ...], ask: Asker) -> Claims:
    """The union of the claim sets. The first wording of a claim stays; m sets cost m - 1 calls.

    Neighbours are merged in pairs, then the unions in pairs, log2(m) rounds rounded up, in the
    order of first appearance.
    """
    sets = [
        tuple(MergedClaim(text, ((answer, claim),)) for claim, text in enumerate(claims))
        for answer, claims in enumerate(answer_claims)
        if claims
    ]
    while len(sets) > 1:
        pairs = zip(sets[::2], sets[1::2], strict=False)
        unpaired = sets[-1:] if len(sets) % 2 else []
        sets = [*await together(_unite(a, b, ask) for a, b in pairs), *unpaired]
    return sets[0] if sets else ()


async def _unite(first: Claims, second: Claims, ask: Asker) -> Claims:
    """The first set and what the second adds to it, by one call."""

    def check(reply: ClaimPairs) -> None:
        for existing, new in reply.pairs:
            if not 0 <= existing < len(first) or not 0 <= new < len(second):
                raise ValueError(
                    f"pair [{existing}, {new}] is outside {len(first)} existing and "
                    f"{len(second)} new claims"
                )

    completion = await ask.ask(
        MERGE,
        check=check,
        existing=[claim.text for claim in first],
        new=[claim.text for claim in second],
    )
    covered: dict[int, int] = {}
    for existing, new in completion.parsed.pairs:
        covered.setdefault(new, existing)
    merged = list(first)
    for index, claim in enumerate(second):
        if index not in covered:
            merged.append(claim)
        else:
            old = merged[covered[index]]
            merged[covered[index]] = MergedClaim(old.text, (*old.sources, *claim.sources))
    return tuple(merged)
