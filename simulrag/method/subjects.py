"""What claims are about: one call a question that puts each claim into a facet of a subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictInt

from simulrag.method.asking import batches
from simulrag.method.reconciliation import check_partition
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
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
    """Reply to ``subjects`` and ``evaluation_subjects``."""

    subjects: Annotated[list[SubjectEntry], Field(min_length=1)]


CLAIMS_PER_SUBJECT = 3


def stand_in_subjects(said: Sequence[object], name: str) -> object:
    """A stand-in: each few claims (or whatever the field ``name`` holds) in turn are a subject."""
    facets = (
        {"kind": "number", "exclusive": True, name: list(few)}
        for few in batches(said, CLAIMS_PER_SUBJECT)
    )
    return {"subjects": [{"about": MARK, "facets": [facet], "rests_on": []} for facet in facets]}


def _in_turn(prompted: Prompted) -> object:
    return stand_in_subjects(range(len(prompted.values["claims"])), "claims")


SUBJECTS = Task("subjects", SubjectsReply, tokens=800, stand_in=_in_turn)
EVALUATION_SUBJECTS = Task("evaluation_subjects", SubjectsReply, tokens=430, stand_in=_in_turn)


async def find_subjects(
    question: str,
    claims: Sequence[str],
    ask: Asker,
    *,
    task: Task = SUBJECTS,
) -> tuple[Subject, ...]:
    """The subjects of the claims, every claim in exactly one facet; no call without claims.

    Raises ModelError where the reply, after one repair, still is not such a partition.
    """
    if not claims:
        return ()

    def check(reply: SubjectsReply) -> None:
        check_partition(subjects_of(reply.subjects, _claims), len(claims))

    completion = await ask.ask(task, check=check, question=question, claims=list(claims))
    return subjects_of(completion.parsed.subjects, _claims)


def subjects_of(
    entries: Sequence[Any], claims: Callable[[Any], Iterable[int]]
) -> tuple[Subject, ...]:
    """The subjects that a reply lists; ``claims``: those of one of its facets."""
    return tuple(
        Subject(
            about=" ".join(subject.about.split()),
            facets=tuple(
                Facet(kind=facet.kind, exclusive=facet.exclusive, claims=tuple(claims(facet)))
                for facet in subject.facets
            ),
            rests_on=tuple(subject.rests_on),
        )
        for subject in entries
    )


def _claims(facet: SubjectFacet) -> list[int]:
    return facet.claims
