"""A text held against the evidence, claim by claim, and mended by the smallest change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import StrictBool, StrictInt, StrictStr

from simulators.base import Tool, render_handbook
from simulrag.marks import Place, place_of, places_of, times_in
from simulrag.models.base import Asker
from simulrag.models.replies import InvalidReply, Reply, Text
from simulrag.records import Audit, AuditedClaim, Evidence, MissingPoint
from simulrag.stand_in import MARK, OPEN, WRONG, Prompted, draw, sentence, sentences
from simulrag.task import Task


class ClaimAudit(Reply):
    """One claim of an AuditReply."""

    quote: Text
    claim: Text
    status: Literal["supported", "wrong", "open", "judgement"]
    runs: list[StrictInt]
    correction: StrictStr
    runnable: StrictBool


class Lacking(Reply):
    """What a text lacks, in an AuditReply."""

    text: Text
    runs: list[StrictInt]


class AuditReply(Reply):
    """Reply to ``audit``; runs are numbered from 1."""

    claims: list[ClaimAudit]
    missing: list[Lacking]


MENDED = 6
OPENED = 8
"""One text in so many has something wrong, or open that a run could decide: of the recorded ones
about so many."""


def _by_the_first_run(prompted: Prompted) -> object:
    """Judge by the first run, as each sentence says; else right, but for a claim in a few texts."""
    drawn = draw(prompted.seed)
    wrong, opened = drawn % MENDED == 0, drawn % OPENED == 1
    supported = {"status": "supported", "runs": [1], "correction": "", "runnable": False}
    texts = sentences(prompted.text("answer"))
    claims = [{"quote": text, "claim": text, **supported} for text in texts]
    for claim, text in zip(claims, texts, strict=True):
        if WRONG in text:
            claim |= {"status": "wrong", "correction": sentence(text)}
        elif OPEN in text:
            claim |= {"status": "open", "runs": []}
    if claims and wrong and MARK in texts[0]:
        claims[0] |= {"status": "wrong", "correction": sentence(prompted.seed)}
    elif claims and opened and MARK in texts[0] and prompted.tools():
        claims[0] |= {"status": "open", "runs": [], "runnable": True}
    return {"claims": claims, "missing": []}


AUDIT = Task("audit", AuditReply, tokens=900, stand_in=_by_the_first_run)


async def audit_text(
    question: str,
    text: str,
    evidence: Sequence[Evidence],
    tools: Mapping[str, Tool],
    ask: Asker,
) -> Audit:
    """Find the claims of a text, what the evidence says of each, and what the text lacks.

    ``tools``: those that could be run further; the model is shown their tables. A reply that names
    runs which are not there, or none where it needs them, or what does not belong to a claim's
    status, is asked for once more; what is so still is left aside, and told among the problems.
    Raises ModelError where nothing is left.
    """

    def check(reply: AuditReply) -> None:
        if faults := list(_audit_faults(reply, len(evidence))):
            faulty = [item for item, _ in faults]
            kept = reply if any(claim not in faulty for claim in reply.claims) else None
            raise InvalidReply("; ".join(fault for _, fault in faults), kept)

    completion = await ask.ask(
        AUDIT,
        check=check,
        question=question,
        evidence=[run.text for run in evidence],
        tools=render_handbook("", tools).strip() if tools else "",
        answer=text,
    )
    reply: AuditReply = completion.parsed
    faults = list(_audit_faults(reply, len(evidence)))
    faulty = [item for item, _ in faults]
    return Audit(
        text=text,
        claims=tuple(
            _claim(claim, runnable=bool(tools)) for claim in reply.claims if claim not in faulty
        ),
        missing=tuple(
            MissingPoint(text=_plain(point.text), runs=_indices(point.runs))
            for point in reply.missing
            if point not in faulty
        ),
        problems=tuple(f"left aside: {fault}" for _, fault in faults),
    )


def _audit_faults(reply: AuditReply, runs: int) -> Iterator[tuple[Reply, str]]:
    """Say what cannot be, a sentence each, in words that a model can act on.

    Where the runs that it names may be counted from 0, or from 2, none of them can be relied on.
    """
    named = {number for claim in reply.claims for number in claim.runs}
    named |= {number for lacking in reply.missing for number in lacking.runs}
    least, most = min(named, default=1), max(named, default=1)
    adrift = (least < 1 and most < runs) or (least > 1 and most > runs)
    for number, claim in enumerate(reply.claims, start=1):
        name = f"claim {number} ({claim.status})"
        yield from ((claim, fault) for fault in _wrong_runs(name, claim.runs, runs, adrift))
        decided = claim.status in ("supported", "wrong")
        if decided and not claim.runs:
            yield claim, f"{name}: name the runs that decide it, or call it open"
        if not decided and claim.runs:
            yield claim, f"{name}: runs are for supported and wrong claims alone"
        if claim.status == "wrong" and not claim.correction.strip():
            yield claim, f"{name}: give the correction"
        if claim.status != "wrong" and claim.correction.strip():
            yield claim, f"{name}: a correction is for wrong claims alone"
        if claim.status != "open" and claim.runnable:
            yield claim, f"{name}: runnable is for open claims alone"
    for number, lacking in enumerate(reply.missing, start=1):
        name = f"missing {number}"
        yield from ((lacking, fault) for fault in _wrong_runs(name, lacking.runs, runs, adrift))
        if not lacking.runs:
            yield lacking, f"{name}: name the runs that give it, or leave it out"


def _wrong_runs(name: str, named: Sequence[int], runs: int, adrift: bool) -> Iterator[str]:
    if unknown := sorted(number for number in set(named) if not 1 <= number <= runs):
        yield f"{name}: there are runs 1 to {runs}, not {', '.join(map(str, unknown))}"
    elif adrift and named:
        yield f"{name}: runs are counted from 1 to {runs}, and another names one beyond; check both"


def _claim(audited: ClaimAudit, *, runnable: bool) -> AuditedClaim:
    return AuditedClaim(
        quote=audited.quote,
        claim=_plain(audited.claim),
        status=audited.status,
        runs=_indices(audited.runs),
        correction=_plain(audited.correction),
        runnable=audited.runnable and runnable,
    )


def _indices(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({number - 1 for number in numbers}))


def _plain(text: str) -> str:
    return " ".join(text.split())


class ChangedPlace(Reply):
    """Where a change, by its number, stands in a Mending."""

    change: StrictInt
    quote: Text


class Mending(Reply):
    """Reply to ``mend``; changes are numbered from 1."""

    text: Text
    places: list[ChangedPlace]


def _changed(prompted: Prompted) -> object:
    """Replace each wrong quote by what is right, and add what is missing at the end."""
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
    """Replace what is wrong in the text and add what is missing, nothing else changed.

    Code checks that supported quotes stay to the letter, but where a wrong one overlaps them, that
    wrong ones go, and that each change stands where the reply says; a reply that fails is asked for
    once more. Raises ModelError.
    """
    wrong = wrong_claims(audit)
    keep = kept_quotes(audit)

    def check(reply: Mending) -> None:
        count = len(wrong) + len(audit.missing)
        if faults := list(
            _mending_faults(reply, audit.text, [claim.quote for claim in wrong], keep, count)
        ):
            raise ValueError("; ".join(faults))

    completion = await ask.ask(
        MEND,
        check=check,
        question=question,
        answer=audit.text,
        changes=[
            *({"quote": item.quote, "says": item.correction} for item in wrong),
            *({"quote": "", "says": item.text} for item in audit.missing),
        ],
        keep=keep,
    )
    reply: Mending = completion.parsed
    quotes = [place.quote for place in sorted(reply.places, key=lambda place: place.change)]
    return _placed(reply.text, audit, quotes[: len(wrong)], quotes[len(wrong) :])


def _placed(text: str, audit: Audit, corrected: Sequence[str], added: Sequence[str]) -> Mended:
    """Find the places of the words that now say each change, in the order of all claims."""
    words = iter(corrected)
    changed = [claim.status == "wrong" for claim in audit.claims]
    quotes = [
        next(words) if wrong else claim.quote
        for wrong, claim in zip(changed, audit.claims, strict=True)
    ]
    placed = zip(changed, places_of(quotes, text), strict=True)
    return Mended(
        text,
        tuple(place for wrong, place in placed if wrong and place is not None),
        tuple(place for place in places_of(added, text) if place is not None),
    )


def wrong_claims(audit: Audit) -> list[AuditedClaim]:
    """What is to be replaced, in the order of the changes."""
    return [claim for claim in audit.claims if claim.status == "wrong"]


def kept_quotes(audit: Audit) -> list[str]:
    """Return the quotes of supported claims that overlap no wrong one."""
    wrong = [place_of(claim.quote, audit.text) for claim in wrong_claims(audit)]

    def apart(place: Place | None) -> bool:
        return place is not None and not any(
            other is not None and place[0] < other[1] and other[0] < place[1] for other in wrong
        )

    quotes = [claim.quote for claim in audit.claims if claim.status == "supported"]
    return list(dict.fromkeys(quote for quote in quotes if apart(place_of(quote, audit.text))))


def _mending_faults(
    reply: Mending, text: str, wrong: Sequence[str], keep: Sequence[str], changes: int
) -> Iterator[str]:
    """Say what cannot be, a sentence each, in words that a model can act on."""
    if sorted(place.change for place in reply.places) != list(range(1, changes + 1)):
        yield f"places: give each change, 1 to {changes}, exactly once"
    for place in reply.places:
        if place_of(place.quote, reply.text) is None:
            yield (
                f"place of change {place.change}: your text does not have these words: "
                f"{place.quote}"
            )
    for quote in keep:
        if place_of(quote, reply.text) is None:
            yield f"keep these words exactly: {quote}"
    for quote in dict.fromkeys(wrong):
        if (before := times_in(quote, text)) and times_in(quote, reply.text) >= before:
            yield f"these words are wrong and stand there still: {quote}"
