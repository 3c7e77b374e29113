"""What claims are about: one call a question that puts each claim into a facet of a subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from simulrag.method.asking import batches
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text, misnumbered
from simulrag.records import Facet, FacetKind, Subject
from simulrag.stand_in import MARK, Prompted
from simulrag.task import Task


class SubjectFacet(Reply):
    """One side of a subject, and the claims that speak of it."""

    kind: FacetKind
    exclusive: StrictBool
    claims: Annotated[list[StrictInt], Field(min_length=1)]


class SubjectEntry(Reply):
    """One thing that claims are about."""

    about: Text
    facets: Annotated[list[SubjectFacet], Field(min_length=1)]
    rests_on: list[StrictInt]


class SubjectsReply(Reply):
    """Reply to ``evaluation_subjects``."""

    subjects: Annotated[list[SubjectEntry], Field(min_length=1)]


CLAIMS_PER_SUBJECT = 3


def _in_turn(prompted: Prompted) -> object:
    """Each few claims in turn are a subject."""
    facets = (
        {"kind": "number", "exclusive": True, "claims": list(few)}
        for few in batches(range(len(prompted.values["claims"])), CLAIMS_PER_SUBJECT)
    )
    return {"subjects": [{"about": MARK, "facets": [facet], "rests_on": []} for facet in facets]}


EVALUATION_SUBJECTS = Task("evaluation_subjects", SubjectsReply, tokens=430, stand_in=_in_turn)


async def find_subjects(
    question: str,
    claims: Sequence[str],
    ask: Asker,
) -> tuple[Subject, ...]:
    """The subjects of the claims, every claim in exactly one facet; no call without claims.

    Raises ModelError where the reply, after one repair, still is not such a partition.
    """
    if not claims:
        return ()

    def check(reply: SubjectsReply) -> None:
        _check_partition(_subjects_of(reply.subjects), len(claims))

    completion = await ask.ask(
        EVALUATION_SUBJECTS, check=check, question=question, claims=list(claims)
    )
    return _subjects_of(completion.parsed.subjects)


def _subjects_of(entries: Sequence[SubjectEntry]) -> tuple[Subject, ...]:
    return tuple(
        Subject(
            about=" ".join(subject.about.split()),
            facets=tuple(
                Facet(kind=facet.kind, exclusive=facet.exclusive, claims=tuple(facet.claims))
                for facet in subject.facets
            ),
            rests_on=tuple(subject.rests_on),
        )
        for subject in entries
    )


def _check_partition(subjects: Sequence[Subject], claims: int) -> None:
    """Raise ValueError, in words that a model can act on, unless each claim is in one facet."""
    in_facets = (claim for subject in subjects for f in subject.facets for claim in f.claims)
    problems = misnumbered(in_facets, claims) + [
        f"subject {at} rests on {other}"
        for at, subject in enumerate(subjects)
        for other in subject.rests_on
        if other == at or not 0 <= other < len(subjects)
    ]
    if problems:
        raise ValueError(
            f"put each claim, 0 to {claims - 1}, into exactly one facet, and let subjects rest on "
            f"others by their position; {'; '.join(problems)}"
        )
