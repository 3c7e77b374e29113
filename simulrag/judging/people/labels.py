"""Human labels as a set: what is wrong with one, and what the people say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from simulrag.errors import InputError
from simulrag.records import HumanLabel, Label, LabelValue, claim_hash

Key = tuple[str, str]
"""Question id and claim hash."""

LABELERS_PER_CLAIM = 2
"""People who should label each claim."""


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
        return len({one.label for one in self.given}) > 1

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
        """The row that takes the place of the judge's."""
        said = [f"{one.annotator}: {one.label}" for one in (*self.given, *self._last)]
        notes = [one.note for one in (*self._last, *self.given) if one.note]
        return Label(
            question_id=self.first.question_id,
            claim_hash=self.first.claim_hash,
            text=self.first.text,
            label=self.label,
            reason="; ".join([", ".join(said), *notes]),
            source="human",
        )

    @property
    def _last(self) -> tuple[HumanLabel, ...]:
        return () if self.adjudication is None else (self.adjudication,)


def in_order(labels: Iterable[HumanLabel]) -> list[HumanLabel]:
    """By question, claim, and annotator, adjudications last: the order they are kept in."""
    return sorted(
        labels, key=lambda one: (one.question_id, one.claim_hash, one.adjudication, one.annotator)
    )


def majority_label(labels: Iterable[HumanLabel]) -> dict[Key, Settled]:
    """What is said of each claim, by question id and claim hash, in order.

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
    given = tuple(one for one in group if not one.adjudication)
    adjudications = [one for one in group if one.adjudication]
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
