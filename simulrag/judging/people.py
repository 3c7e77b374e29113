"""Labels by people, which override the judge's: the claims to offer, and what labels say."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import Field

from simulrag.errors import InputError
from simulrag.records import (
    Answer,
    Claim,
    Label,
    LabelValue,
    Question,
    Record,
    claim_hash,
)

Key = tuple[str, str]
"""Question id and claim hash."""

LABELERS_PER_CLAIM = 2
"""People who should label each claim."""


class HumanLabel(Record):
    """What one person said of one claim text of one question, by question and claim alone.

    ``adjudication``: a further label that settles a claim on which two others were given.
    """

    question_id: str = Field(min_length=1)
    claim_hash: str = Field(pattern="^[0-9a-f]{16}$")
    text: str = Field(min_length=1)
    label: LabelValue
    annotator: str = Field(min_length=1, max_length=60)
    adjudication: bool = False
    note: str = Field(default="", max_length=2000)


@dataclass(frozen=True)
class Settled:
    """What people say together of one claim.

    ``given``: their own labels, by annotator. ``adjudication``: the label that settles them.
    """

    given: tuple[HumanLabel, ...]
    adjudication: HumanLabel | None

    @property
    def disputed(self) -> bool:
        """Two people gave different labels."""
        return len({row.label for row in self.given}) > 1

    @property
    def label(self) -> LabelValue:
        """The adjudication where there is one, else what all say, else undecided."""
        if self.adjudication is not None:
            return self.adjudication.label
        return "undecided" if self.disputed else self.given[0].label

    @property
    def how(self) -> str:
        """How the claim was settled, for readers."""
        if self.adjudication is not None:
            return "adjudicated"
        if self.disputed:
            return "disputed"
        return "one annotator" if len(self.given) == 1 else "agreed"

    @property
    def first(self) -> HumanLabel:
        """Any of the rows: they share question, claim hash and, but for white space, the text."""
        return self.given[0]

    def as_label(self) -> Label:
        """Make the row that takes the place of the judge's."""
        labels = [f"{row.annotator}: {row.label}" for row in (*self.given, *self._last)]
        notes = [row.note for row in (*self._last, *self.given) if row.note]
        return Label(
            question_id=self.first.question_id,
            claim_hash=self.first.claim_hash,
            text=self.first.text,
            label=self.label,
            reason="; ".join([", ".join(labels), *notes]),
            source="human",
        )

    @property
    def _last(self) -> tuple[HumanLabel, ...]:
        return () if self.adjudication is None else (self.adjudication,)


def in_order(labels: Iterable[HumanLabel]) -> list[HumanLabel]:
    """Sort by question, claim, and annotator, adjudications last: the order they are kept in."""
    return sorted(
        labels, key=lambda row: (row.question_id, row.claim_hash, row.adjudication, row.annotator)
    )


def majority_label(labels: Iterable[HumanLabel]) -> dict[Key, Settled]:
    """Settle each claim's labels, by question id and claim hash, in order.

    Raises InputError for a hash that is not its text's, for a claim that one annotator labelled
    twice, and for an adjudication that is the second of its claim or has fewer than two labels to
    settle.
    """
    groups: dict[Key, list[HumanLabel]] = {}
    for label in in_order(labels):
        if claim_hash(label.text) != label.claim_hash:
            raise InputError(
                f"{_place(label)} has the hash of another text: labels must not be edited by hand"
            )
        groups.setdefault((label.question_id, label.claim_hash), []).append(label)
    return {key: _settled(group) for key, group in groups.items()}


def _settled(group: Sequence[HumanLabel]) -> Settled:
    given = tuple(row for row in group if not row.adjudication)
    adjudications = [row for row in group if row.adjudication]
    for before, after in pairwise(given):
        if before.annotator == after.annotator:
            raise InputError(
                f"{_place(after)} is labelled twice by '{after.annotator}' "
                f"({before.label}, {after.label}): keep one"
            )
    if len(adjudications) > 1:
        raise InputError(f"{_place(group[0])} is adjudicated twice: keep one")
    if adjudications and len(given) < LABELERS_PER_CLAIM:
        raise InputError(
            f"{_place(group[0])} is adjudicated and has {len(given)} other labels: an adjudication "
            f"settles at least {LABELERS_PER_CLAIM}"
        )
    return Settled(given, adjudications[0] if adjudications else None)


def _place(label: HumanLabel) -> str:
    return f"human labels: claim '{label.text[:60]}' of question '{label.question_id}'"


class OfferedClaim(Record):
    """A claim to label, with what a person needs to judge it.

    It holds neither the judge's label nor the verdict: a person who saw them would not be a second
    opinion. ``evidence``: the simulator runs that the reference was written from.
    """

    question_id: str
    domain: str
    claim_hash: str
    text: str
    question: str
    reference: str
    evidence: str


def offers(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    labels: Sequence[Label],
    *,
    sample: int | None = None,
    seed: int = 0,
) -> list[OfferedClaim]:
    """Choose the claims to offer, each text of a question once, at most ``sample`` of them.

    Claims before and after verification, and statements, that went to the judge: those that it left
    undecided or failed at come first, then the others so that any beginning of the list holds each
    verdict in proportion (the text after an edit is a stratum of its own). Order and choice are
    fixed by ``seed``, and a larger sample begins with the smaller one. Raises InputError where an
    answer's question is not among ``questions``.
    """
    if sample is not None and sample < 1:
        raise InputError(f"{sample} is not a sample of claims: give 1 or more")
    asked = {question.question_id: question for question in questions}
    judged = {(label.question_id, label.claim_hash): label for label in labels}
    open_ones: list[OfferedClaim] = []
    strata: dict[str, list[OfferedClaim]] = {}
    for answer in answers:
        if answer.failure is not None:
            continue
        if answer.question_id not in asked:
            raise InputError(
                f"question '{answer.question_id}' has an answer and is not in the benchmark: "
                "answer and benchmark files must belong together"
            )
        for text, stratum in _texts(answer).items():
            label = judged.get((answer.question_id, claim_hash(text)))
            if label is None:
                continue
            offer = _offer(asked[answer.question_id], answer, text)
            if label.label in (None, "undecided"):
                open_ones.append(offer)
            else:
                strata.setdefault(stratum, []).append(offer)
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    rng.shuffle(open_ones)
    return [*open_ones, *_spread(strata, rng)][:sample]


def _texts(answer: Answer) -> dict[str, str]:
    """Find each distinct text of a question and its stratum; the first that has it decides."""
    texts: dict[str, tuple[str, str]] = {}
    for claim in answer.claims:
        texts.setdefault(claim_hash(claim.text), (claim.text, _status(claim)))
        if claim.after != claim.text:
            updated = claim.after
            texts.setdefault(claim_hash(updated), (updated, f"{_status(claim)}, after"))
    for statement in answer.final.statements:
        key = claim_hash(statement.text)
        texts.setdefault(key, (statement.text, statement.standing))
    return dict(texts.values())


def _status(claim: Claim) -> str:
    return "not verified" if claim.verdict is None else claim.verdict.status


def _offer(question: Question, answer: Answer, text: str) -> OfferedClaim:
    runs = question.evidence or answer.evidence
    return OfferedClaim(
        question_id=question.question_id,
        domain=question.domain,
        claim_hash=claim_hash(text),
        text=text,
        question=question.text,
        reference=question.reference_answer,
        evidence="\n\n".join(run.text for run in runs),
    )


def _spread(strata: Mapping[str, list[OfferedClaim]], rng: random.Random) -> list[OfferedClaim]:
    """Shuffle each stratum and lay it out evenly over the whole: a beginning is in proportion."""
    placed: list[tuple[float, str, OfferedClaim]] = []
    for name in sorted(strata):
        group = strata[name]
        rng.shuffle(group)
        placed += [((rank + 0.5) / len(group), name, claim) for rank, claim in enumerate(group)]
    return [claim for _, _, claim in sorted(placed, key=lambda item: item[:2])]
