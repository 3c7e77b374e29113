"""What the labelling page asks of the server: the claims, their state, and saving one label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError

from simulrag.errors import InputError
from simulrag.evaluation.human.labels import WANTED, Settled, settle
from simulrag.evaluation.human.offering import Offer
from simulrag.evaluation.human.store import LabelStore
from simulrag.records import HumanLabel, LabelValue, Record

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9 ._-]{0,39}$")]
"""Lower case, so that 'Ann' and 'ann' are one person."""


class Person(Record):
    """Who asks."""

    annotator: Name


class Given(Person):
    """One click. ``label`` None takes the label away; ``expected`` is what the page showed."""

    question_id: str
    claim_hash: str
    label: LabelValue | None
    expected: LabelValue | None
    note: str = Field(default="", max_length=2000)
    adjudication: bool = False


class Session:
    """The claims on offer and the labels given so far."""

    def __init__(self, offers: Sequence[Offer], store: LabelStore) -> None:
        self._offers = {(offer.question_id, offer.claim_hash): offer for offer in offers}
        self._store = store

    def claims(self) -> dict[str, Any]:
        """Everything that does not change: questions once, claims in the order of the offer."""
        questions = {
            offer.question_id: {
                "domain": offer.domain,
                "question": offer.question,
                "reference": offer.reference,
                "evidence": offer.evidence,
            }
            for offer in self._offers.values()
        }
        claims = [
            {
                "question_id": offer.question_id,
                "claim_hash": offer.claim_hash,
                "text": offer.text,
            }
            for offer in self._offers.values()
        ]
        return {"wanted": WANTED, "questions": questions, "claims": claims}

    def state(self, annotator: str) -> list[dict[str, Any]]:
        """For each claim what this person must know of its labels."""
        person = _valid(Person, {"annotator": annotator})
        settled = settle(self._store.labels())
        return [_state(settled.get(key), person.annotator) for key in self._offers]

    def save(self, body: object) -> dict[str, Any]:
        """Save one click and return the claim's state; raises InputError, Conflict among them."""
        given = _valid(Given, body)
        key = (given.question_id, given.claim_hash)
        offer = self._offers.get(key)
        if offer is None:
            raise InputError(
                f"claim {given.claim_hash} of question '{given.question_id}' is not on offer"
            )
        if given.adjudication:
            there = settle(self._store.labels()).get(key)
            if there is None or not there.disputed:
                raise InputError("nobody disagrees about this claim: there is nothing to settle")
        label = HumanLabel(
            question_id=given.question_id,
            claim_hash=given.claim_hash,
            text=offer.text,
            label=given.label or "undecided",
            annotator=given.annotator,
            adjudication=given.adjudication,
            note=given.note.strip(),
        )
        if given.label is None:
            self._store.remove(label, given.expected)
        else:
            self._store.save(label, given.expected)
        return _state(settle(self._store.labels()).get(key), given.annotator)


def _state(settled: Settled | None, annotator: str) -> dict[str, Any]:
    """Other people's labels are told only where the claim is to be settled."""
    if settled is None:
        return {"mine": None, "others": 0, "disputed": None, "settled": None}
    mine = next((one for one in settled.given if one.annotator == annotator), None)
    last = settled.adjudication
    return {
        "mine": None if mine is None else {"label": mine.label, "note": mine.note},
        "others": sum(one.annotator != annotator for one in settled.given),
        "disputed": [{"label": one.label, "note": one.note} for one in settled.given]
        if settled.disputed and len(settled.given) >= WANTED
        else None,
        "settled": None
        if last is None
        else {"label": last.label, "note": last.note, "own": last.annotator == annotator},
    }


def _valid(kind: type[Any], body: object) -> Any:
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "request"
        raise InputError(f"{where}: {first['msg']}") from None
