"""An audited text with the smallest change that puts right what was found in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import StrictInt

from simulrag.marks import Place, place_of, places_of, times_in
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.records import Audit, AuditedClaim
from simulrag.stand_in import Prompted
from simulrag.task import Task


class ChangedPlace(Reply):
    """Where a change, by its number, stands in a Mending."""

    change: StrictInt
    quote: Text


class Mending(Reply):
    """Reply to ``mend``; changes are numbered from 1."""

    text: Text
    places: list[ChangedPlace]


def _changed(prompted: Prompted) -> object:
    """Each wrong quote replaced by what is right, and what is missing at the end."""
    text, places = prompted.text("answer"), []
    for number, quote, right, missing in _CHANGE.findall(prompted.text("changes")):
        says = right or missing
        text = text.replace(quote, says) if quote else f"{text} {says}"
        places.append({"change": int(number), "quote": says})
    return {"text": text, "places": places}


_CHANGE = re.compile(r'^(\d+)\. (?:wrong: "(.*)"; right: (.*)|missing: (.*))$', re.M)


MEND = Task("mend", Mending, tokens=260, stand_in=_changed)


@dataclass(frozen=True)
class Mended:
    """A mended text, and where the wrong claims' corrections and what was missing stand in it."""

    text: str
    corrected: tuple[Place, ...]
    added: tuple[Place, ...]


async def mend_text(question: str, audit: Audit, ask: Asker) -> Mended:
    """The text with what is wrong replaced and what is missing added, nothing else changed.

    Code checks that supported quotes stay to the letter, but where a wrong one overlaps them, that
    wrong ones go, and that each change stands where the reply says; a reply that fails is asked for
    once more. Raises ModelError.
    """
    wrong = wrong_claims(audit)
    keep = kept_quotes(audit)

    def check(reply: Mending) -> None:
        count = len(wrong) + len(audit.missing)
        if found := list(_faults(reply, audit.text, [one.quote for one in wrong], keep, count)):
            raise ValueError("; ".join(found))

    completion = await ask.ask(
        MEND,
        check=check,
        question=question,
        answer=audit.text,
        changes=[
            *({"quote": one.quote, "says": one.correction} for one in wrong),
            *({"quote": "", "says": one.text} for one in audit.missing),
        ],
        keep=keep,
    )
    reply: Mending = completion.parsed
    said = [one.quote for one in sorted(reply.places, key=lambda one: one.change)]
    return _placed(reply.text, audit, said[: len(wrong)], said[len(wrong) :])


def _placed(text: str, audit: Audit, corrected: Sequence[str], added: Sequence[str]) -> Mended:
    """The places of the words that now say each change, looked for in the order of all claims."""
    words = iter(corrected)
    changed = [one.status == "wrong" for one in audit.claims]
    quotes = [
        next(words) if one else claim.quote
        for one, claim in zip(changed, audit.claims, strict=True)
    ]
    found = zip(changed, places_of(quotes, text), strict=True)
    return Mended(
        text,
        tuple(place for one, place in found if one and place is not None),
        tuple(place for place in places_of(added, text) if place is not None),
    )


def wrong_claims(audit: Audit) -> list[AuditedClaim]:
    """What is to be replaced, in the order of the changes."""
    return [one for one in audit.claims if one.status == "wrong"]


def kept_quotes(audit: Audit) -> list[str]:
    """The quotes of supported claims that overlap no wrong one."""
    wrong = [place_of(one.quote, audit.text) for one in wrong_claims(audit)]

    def apart(place: Place | None) -> bool:
        return place is not None and not any(
            other is not None and place[0] < other[1] and other[0] < place[1] for other in wrong
        )

    quotes = [one.quote for one in audit.claims if one.status == "supported"]
    return list(dict.fromkeys(one for one in quotes if apart(place_of(one, audit.text))))


def _faults(
    reply: Mending, text: str, wrong: Sequence[str], keep: Sequence[str], changes: int
) -> Iterator[str]:
    """What cannot be, a sentence each, in words that a model can act on."""
    if sorted(one.change for one in reply.places) != list(range(1, changes + 1)):
        yield f"places: give each change, 1 to {changes}, exactly once"
    for one in reply.places:
        if place_of(one.quote, reply.text) is None:
            yield f"place of change {one.change}: your text does not have these words: {one.quote}"
    for quote in keep:
        if place_of(quote, reply.text) is None:
            yield f"keep these words exactly: {quote}"
    for quote in dict.fromkeys(wrong):
        if (before := times_in(quote, text)) and times_in(quote, reply.text) >= before:
            yield f"these words are wrong and stand there still: {quote}"
