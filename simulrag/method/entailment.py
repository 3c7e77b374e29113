"""Step 5: the bipartite support matrix of answers and claims."""

from __future__ import annotations

from pydantic import StrictBool

from simulrag.method.asking import together
from simulrag.method.merging import MergedClaim
from simulrag.models.base import Asker
from simulrag.models.replies import Reply
from simulrag.stand_in import Prompted
from simulrag.task import Task


class Entailment(Reply):
    """Reply to ``entailment``: one boolean a claim, in order."""

    supported: list[StrictBool]


def _none(prompted: Prompted) -> object:
    return {"supported": [False] * len(prompted.listed("claims"))}


ENTAILMENT = Task("entailment", Entailment, tokens=25, stand_in=_none)


async def support_matrix(
    answers: tuple[str, ...], claims: tuple[MergedClaim, ...], ask: Asker
) -> list[list[bool]]:
    """``support[answer][claim]``: does the answer support the claim.

    The pair that a claim came from is true and is not asked. One call an answer about the rest,
    none where nothing is left.
    """
    origins = [frozenset(answer for answer, _ in claim.sources) for claim in claims]
    return await together(
        _row(answer, [a in origin for origin in origins], claims, ask)
        for a, answer in enumerate(answers)
    )


async def _row(
    answer: str, own: list[bool], claims: tuple[MergedClaim, ...], ask: Asker
) -> list[bool]:
    texts = [claim.text for claim, known in zip(claims, own, strict=True) if not known]
    if not texts:
        return own

    def check(reply: Entailment) -> None:
        if len(reply.supported) != len(texts):
            raise ValueError(f"{len(reply.supported)} booleans for {len(texts)} claims")

    completion = await ask.ask(ENTAILMENT, check=check, answer=answer, claims=texts)
    replies = iter(completion.parsed.supported)
    return [known or next(replies) for known in own]
