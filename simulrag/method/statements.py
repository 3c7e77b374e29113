"""What a reconciled answer says: one voice for each subject, and how far it was checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simulrag.method.decomposition import Decomposition, distinct_texts
from simulrag.method.reconciliation import (
    SettledSubject,
    one_voice,
    settle,
    unsupported_judgements,
    votes,
)
from simulrag.models.base import Asker
from simulrag.records import (
    DECIDED,
    VOTES,
    Answer,
    Claim,
    Selection,
    Standing,
    Statement,
    Subject,
    Verdict,
    claim_hash,
)
from simulrag.task import Task

UNCOVERED = Task("uncovered", Decomposition, tokens=7)


def statements_of(answer: Answer, choice: Selection) -> tuple[Statement, ...]:
    """The statements of a drafted and verified answer, in the order of its subjects.

    A selected subject says what verification left of it; one that was not selected, or that the
    evidence does not decide, speaks with one answer's voice, from claims of at least kappa that
    have not lost their grounds. Two claims that were corrected to one text are said once.
    """
    verdicts = {
        claim: verdict
        for claim in choice.selected
        if (verdict := answer.claims[claim].verdict) is not None
    }
    texts = [claim.text for claim in answer.claims]
    settled = {
        at: settle(answer.subjects[at], verdicts, texts)
        for at in choice.subjects
        if any(claim in verdicts for claim in answer.subjects[at].claims)
    }
    fallen = unsupported_judgements(answer.subjects, settled, verdicts, answer.support)
    sure = [at for at, one in enumerate(answer.claims) if one.confidence[VOTES] >= choice.kappa]
    may_speak = frozenset(sure) - fallen
    distinct: dict[str, Statement] = {}
    for at, subject in enumerate(answer.subjects):
        of_subject = (
            _checked(answer, at, settled[at], verdicts, may_speak)
            if at in settled and settled[at].status not in ("indeterminate", "error")
            else _unchecked(answer, at, subject, may_speak)
        )
        for statement in of_subject:
            distinct.setdefault(claim_hash(statement.text), statement)
    return tuple(distinct.values())


async def uncovered_claims(
    question: str, context: str, claims: Sequence[str], ask: Asker
) -> tuple[str, ...]:
    """What the question asks for and the evidence says, where no claim speaks of it."""
    completion = await ask.ask(UNCOVERED, question=question, context=context, claims=list(claims))
    return distinct_texts(item.claim for item in completion.parsed.claims)


def _checked(
    answer: Answer,
    at: int,
    settled: SettledSubject,
    verdicts: Mapping[int, Verdict],
    may_speak: frozenset[int],
) -> list[Statement]:
    """What the evidence decided of a subject; of the rest that stays, one voice a facet."""
    subject = answer.subjects[at]
    statements = []
    open_facets = []
    for facet in subject.facets:
        kept = [claim for claim in facet.claims if claim in settled.kept]
        decided = [c for c in kept if c in verdicts and verdicts[c].status in DECIDED]
        for index in decided:
            text = settled.corrected.get(index)
            rivals = tuple(answer.claims[rival].text for rival in settled.rivals.get(index, ()))
            statements.append(
                _statement(answer.claims[index].told, "checked", index, at, rivals)
                if text is None
                else _statement(text, "corrected", index, at)
            )
        left = tuple(claim for claim in kept if claim not in decided)
        if left:
            open_facets.append(facet.model_copy(update={"claims": left}))
    if open_facets:
        rest = subject.model_copy(update={"facets": tuple(open_facets)})
        statements += _unchecked(answer, at, rest, may_speak)
    return sorted(statements, key=lambda statement: statement.claim or 0)


def _unchecked(
    answer: Answer, at: int, subject: Subject, may_speak: frozenset[int]
) -> list[Statement]:
    support = answer.support
    voice = one_voice(subject, support, [one for one in subject.claims if one in may_speak])
    statements = []
    for index in voice:
        claim = answer.claims[index]
        facet = next(facet for facet in subject.facets if index in facet.claims)
        others: tuple[str, ...] = ()
        if facet.exclusive and facet.kind == "number":
            shares, _ = votes(support, facet.claims)
            others = tuple(
                answer.claims[other].text
                for other, share in zip(facet.claims, shares, strict=True)
                if other != index and share > 0
            )
        statements.append(_statement(claim.text, _standing(claim), index, at, others))
    return statements


def _standing(claim: Claim) -> Standing:
    return "outside" if claim.boundary is False else "unchecked"


def _statement(
    text: str, standing: Standing, claim: int, subject: int, others: tuple[str, ...] = ()
) -> Statement:
    return Statement(text=text, standing=standing, claim=claim, subject=subject, others=others)
