"""Merging, support and subjects by one call over all claim sets (``answer.merging: joint``).

It stands in for m - 1 merges, m entailments and the grouping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from simulrag.method.merging import Merged, MergedClaim
from simulrag.method.reconciliation import check_partition
from simulrag.method.subjects import stand_in_subjects, subjects_of
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.records import Facet, FacetKind, Subject
from simulrag.stand_in import Prompted, alike
from simulrag.task import Task


class JointAlternative(Reply):
    """Claims that say the same of one side of a subject; answers that agree without saying it."""

    claims: Annotated[list[StrictInt], Field(min_length=1)]
    answers: list[StrictInt]


class JointFacet(Reply):
    """One side of a subject, and the different things that are said of it."""

    kind: FacetKind
    exclusive: StrictBool
    alternatives: Annotated[list[JointAlternative], Field(min_length=1)]


class JointSubject(Reply):
    """One thing that the claims of several answers are about."""

    about: Text
    facets: Annotated[list[JointFacet], Field(min_length=1)]
    rests_on: list[StrictInt]


class JointReply(Reply):
    """Reply to ``joint``."""

    subjects: Annotated[list[JointSubject], Field(min_length=1)]


def _in_turn(prompted: Prompted) -> object:
    """Equal texts are one alternative; each few alternatives that follow are a subject."""
    same = [
        {"claims": which, "answers": []}
        for which in alike(claim["text"] for claim in prompted.values["claims"])
    ]
    return stand_in_subjects(same, "alternatives")


JOINT = Task("joint", JointReply, tokens=720, stand_in=_in_turn)


async def merge_jointly(
    question: str, answer_claims: Sequence[Sequence[str]], ask: Asker
) -> Merged:
    """All claim sets at once; no call where no answer claims anything.

    The first wording of a claim stays, and claims keep the order of first appearance. An answer
    supports what one of its claims says, and what the reply says that it agrees with. Raises
    ModelError where the reply, after one repair, still leaves a claim out or has it twice.
    """
    stated = [
        (answer, place, text)
        for answer, texts in enumerate(answer_claims)
        for place, text in enumerate(texts)
    ]
    if not stated:
        return Merged((), support=tuple(() for _ in answer_claims), subjects=())

    def check(reply: JointReply) -> None:
        _check(reply, len(stated), len(answer_claims))

    completion = await ask.ask(
        JOINT,
        check=check,
        question=question,
        claims=[{"answer": answer, "text": text} for answer, _, text in stated],
    )
    reply: JointReply = completion.parsed
    ordered = sorted(_alternatives(reply), key=lambda one: min(one.claims))
    merged = tuple(
        MergedClaim(stated[min(one.claims)][2], tuple(stated[at][:2] for at in sorted(one.claims)))
        for one in ordered
    )
    support = tuple(
        tuple(
            answer in one.answers or any(answer == source for source, _ in claim.sources)
            for one, claim in zip(ordered, merged, strict=True)
        )
        for answer in range(len(answer_claims))
    )
    place = {min(one.claims): at for at, one in enumerate(ordered)}
    return Merged(merged, support, _subjects(reply, place))


def _alternatives(reply: JointReply) -> list[JointAlternative]:
    return [
        alternative
        for subject in reply.subjects
        for facet in subject.facets
        for alternative in facet.alternatives
    ]


def _subjects(reply: JointReply, place: dict[int, int]) -> tuple[Subject, ...]:
    """The subjects over merged claims; ``place``: of an alternative's first claim."""

    def merged(facet: JointFacet) -> list[int]:
        return sorted(place[min(one.claims)] for one in facet.alternatives)

    return subjects_of(reply.subjects, merged)


def _check(reply: JointReply, claims: int, answers: int) -> None:
    """Raise ValueError, in words that a model can act on, unless the reply is a partition."""
    alternatives = _alternatives(reply)
    # As if each alternative were a facet, which is what the partition is about.
    flat = [
        Subject(about="x", facets=(Facet(kind="other", exclusive=False, claims=tuple(one.claims)),))
        for one in alternatives
    ]
    check_partition(flat, claims)
    named = Counter(answer for one in alternatives for answer in one.answers)
    unknown = sorted(answer for answer in named if not 0 <= answer < answers)
    if unknown:
        raise ValueError(
            f"answers {', '.join(map(str, unknown))} are unknown: they are 0 to {answers - 1}"
        )
    first = {min(one.claims): at for at, one in enumerate(alternatives)}
    check_partition(_subjects(reply, first), len(alternatives))
