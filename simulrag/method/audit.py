"""Every claim of a text held against the evidence, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import StrictBool, StrictInt, StrictStr

from simulators.base import Tool, render_handbook
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
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
    """By the first run, as each sentence says; else right, but for a claim in a few texts."""
    drawn = draw(prompted.seed)
    wrong, opened = drawn % MENDED == 0, drawn % OPENED == 1
    supported = {"status": "supported", "runs": [1], "correction": "", "runnable": False}
    said = sentences(prompted.text("answer"))
    claims = [{"quote": text, "claim": text, **supported} for text in said]
    for claim, text in zip(claims, said, strict=True):
        if WRONG in text:
            claim |= {"status": "wrong", "correction": sentence(text)}
        elif OPEN in text:
            claim |= {"status": "open", "runs": []}
    if claims and wrong and MARK in said[0]:
        claims[0] |= {"status": "wrong", "correction": sentence(prompted.seed)}
    elif claims and opened and MARK in said[0] and prompted.tools():
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
    """The claims of a text with what the evidence says of each, and what the text lacks.

    ``tools``: those that could be run further; the model is shown their tables. A reply that names
    runs which are not there, or none where it needs them, or what does not belong to a claim's
    status, is asked for once more. Raises ModelError.
    """

    def check(reply: AuditReply) -> None:
        if found := list(_faults(reply, len(evidence))):
            raise ValueError("; ".join(found))

    completion = await ask.ask(
        AUDIT,
        check=check,
        question=question,
        evidence=[one.text for one in evidence],
        tools=render_handbook("", tools).strip() if tools else "",
        answer=text,
    )
    reply: AuditReply = completion.parsed
    return Audit(
        text=text,
        claims=tuple(_claim(one, runnable=bool(tools)) for one in reply.claims),
        missing=tuple(
            MissingPoint(text=_plain(one.text), runs=_indices(one.runs)) for one in reply.missing
        ),
    )


def _faults(reply: AuditReply, runs: int) -> Iterator[str]:
    """What cannot be, a sentence each, in words that a model can act on."""
    for number, one in enumerate(reply.claims, start=1):
        name = f"claim {number} ({one.status})"
        yield from _wrong_runs(name, one.runs, runs)
        decided = one.status in ("supported", "wrong")
        if decided and not one.runs:
            yield f"{name}: name the runs that decide it, or call it open"
        if not decided and one.runs:
            yield f"{name}: runs are for supported and wrong claims alone"
        if one.status == "wrong" and not one.correction.strip():
            yield f"{name}: give the correction"
        if one.status != "wrong" and one.correction.strip():
            yield f"{name}: a correction is for wrong claims alone"
        if one.status != "open" and one.runnable:
            yield f"{name}: runnable is for open claims alone"
    for number, lacking in enumerate(reply.missing, start=1):
        yield from _wrong_runs(f"missing {number}", lacking.runs, runs)
        if not lacking.runs:
            yield f"missing {number}: name the runs that give it, or leave it out"


def _wrong_runs(name: str, named: Sequence[int], runs: int) -> Iterator[str]:
    if unknown := sorted(number for number in set(named) if not 1 <= number <= runs):
        yield f"{name}: there are runs 1 to {runs}, not {', '.join(map(str, unknown))}"


def _claim(one: ClaimAudit, *, runnable: bool) -> AuditedClaim:
    return AuditedClaim(
        quote=one.quote,
        claim=_plain(one.claim),
        status=one.status,
        runs=_indices(one.runs),
        correction=_plain(one.correction),
        runnable=one.runnable and runnable,
    )


def _indices(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({number - 1 for number in numbers}))


def _plain(text: str) -> str:
    return " ".join(text.split())
