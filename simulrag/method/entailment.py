"""Step 5: the bipartite support matrix of answers and claims."""

from __future__ import annotations

from simulrag.method.concurrency import together
from simulrag.method.merging import MergedClaim
from simulrag.models.base import Asker
from simulrag.models.replies import Entailment


async def support_matrix(
    answers: tuple[str, ...], claims: tuple[MergedClaim, ...], ask: Asker
) -> list[list[bool]]:
    """``support[answer][claim]``: does the answer support the claim.

    One call an answer. The pair that a claim came from is true whatever the reply says.
    """
    if not claims:
        return [[] for _ in answers]

    def check(reply: Entailment) -> None:
        if len(reply.supported) != len(claims):
            raise ValueError(f"{len(reply.supported)} booleans for {len(claims)} claims")

    texts = [claim.text for claim in claims]
    completions = await together(
        ask.ask("entailment", Entailment, check=check, answer=answer, claims=texts)
        for answer in answers
    )
    origin = {(a, i) for i, claim in enumerate(claims) for a, _ in claim.sources}
    return [
        [supported or (a, i) in origin for i, supported in enumerate(completion.parsed.supported)]
        for a, completion in enumerate(completions)
    ]
