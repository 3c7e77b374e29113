"""The reconciled method: claims are grouped by what they are about, and a subject speaks once.

The paper's steps up to the claims' confidence; then votes within subjects, a budget that is spent
on whole subjects, and an answer in which every statement has its standing. The paper's own answers
are written beside it where baselines are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.method import paper
from simulrag.method.answering import write_reconciled
from simulrag.method.asking import both
from simulrag.method.merging import Merged
from simulrag.method.reconciliation import one_voice, uncertainty, vote_confidence
from simulrag.method.selection import (
    SubjectCandidates,
    candidates_of,
    development_kappa,
    select_subjects,
)
from simulrag.method.settings import MethodSettings
from simulrag.method.statements import statements_of, uncovered_claims
from simulrag.method.steps import (
    Instruments,
    Work,
    boundary,
    bounded,
    drafted,
    merge,
    sample,
    scored,
    stated,
    step,
    support,
    write_finals,
)
from simulrag.method.subjects import find_subjects
from simulrag.models.base import Asker
from simulrag.records import VOTES, Answer, FinalText, Question, Selection, Statement, Subject


async def draft(question: Question, use: Instruments, settings: MethodSettings) -> Answer:
    """The paper's steps 1 to 7 with subjects, and with ``verify: all`` the verdicts.

    Failures and what waits as in ``paper.draft``.
    """
    return await drafted(Work(question, use), settings, _claims)


async def _claims(work: Work, settings: MethodSettings) -> None:
    """Samples, their claims, what these are about, and what is known of each without evidence."""
    sets = await sample(work, settings)
    merged = await merge(work, sets, settings)
    (rows, subjects), (inside, said) = await both(
        both(support(work, merged), _subjects(work, merged)),
        both(boundary(work, merged, settings), stated(work, merged, settings)),
    )
    shares = vote_confidence(subjects, rows, len(merged.claims))
    claims = scored(merged, rows, inside, said, work.use.centralities, {VOTES: shares})
    work.note(claims=claims, subjects=subjects)


async def _subjects(work: Work, merged: Merged) -> tuple[Subject, ...]:
    """What the claims are about, where merging did not tell."""
    if merged.subjects is not None:
        return merged.subjects
    with step("group"):
        return await find_subjects(work.text, merged.texts, work.ask)


def choose(drafts: Sequence[Answer], settings: MethodSettings) -> list[tuple[Selection, ...]]:
    """A choice a budget for every draft, ascending; before them the paper's, to compare with."""
    published = paper.columns(drafts, settings) if "paper" in settings.beside else []
    by_budget = paper.with_twins([*published, *columns(drafts, settings)], settings)
    return list(zip(*by_budget, strict=True))


def columns(drafts: Sequence[Answer], settings: MethodSettings) -> paper.Columns:
    """What each budget sends to the simulator: what speaks for the most uncertain subjects."""
    kappa = development_kappa([candidates_of([answer], VOTES) for answer in drafts], settings)
    by_budget = []
    for budget in paper.budgets_of(settings):
        by_verdicts = settings.bounded_by_verdicts(budget)
        sent = [_sent(answer, by_verdicts) for answer in drafts]
        topics = [_topics(answer, own) for answer, own in zip(drafts, sent, strict=True)]
        selected = select_subjects(
            topics, budget_percent=budget, pool=settings.pool, tau=settings.tau, seed=settings.seed
        )
        line = paper.line_of("reconciled", budget, kappa, settings)
        by_budget.append(
            [
                Selection(
                    line=line,
                    selected=tuple(sorted(claim for at in chosen for claim in own[at])),
                    subjects=chosen,
                )
                for own, chosen in zip(sent, selected, strict=True)
            ]
        )
    return by_budget


def _sent(answer: Answer, by_verdicts: bool) -> tuple[tuple[int, ...], ...]:
    """For each subject the claims that settle it: those in reach that would speak for it.

    ``by_verdicts``: what is in reach is not known before, so each may be.
    """
    rows = answer.support

    def speaking(subject: Subject) -> tuple[int, ...]:
        within = [at for at in subject.claims if by_verdicts or answer.claims[at].boundary]
        return one_voice(subject, rows, within)

    return tuple(speaking(subject) for subject in answer.subjects)


def _topics(answer: Answer, sent: Sequence[tuple[int, ...]]) -> SubjectCandidates:
    if answer.failure is not None:
        return SubjectCandidates()
    rows, checkable = answer.support, bool(answer.evidence)
    return SubjectCandidates(
        uncertainty=tuple(uncertainty(subject, rows) for subject in answer.subjects),
        within_reach=tuple(checkable and bool(claims) for claims in sent),
        costs=tuple(len(claims) for claims in sent),
        claims=len(answer.claims),
    )


async def conclude(
    question: Question,
    begun: Answer,
    choices: Sequence[Selection],
    use: Instruments,
    settings: MethodSettings,
) -> Answer:
    """Verdicts on what was chosen, what they leave of each subject, and the final answers.

    The last choice makes ``final``, completed where ``complete`` asks for it; completed, it stands
    beside itself without what the completion adds, among the baselines. Else as ``paper.conclude``.
    """
    if begun.failure is not None:
        return begun
    if settings.complete:
        completed = paper.relined(choices[-1], method="reconciled_complete")
        choices = [*(choices if settings.beside else choices[:-1]), completed]
    work = Work(question, use, begun)
    with work.ending():
        await write_finals(work, choices, settings, write)
    return work.answer


async def write(
    question: str, answer: Answer, choice: Selection, settings: MethodSettings, ask: Asker
) -> FinalText:
    """The final answer of one choice; the paper's as the paper writes them. Raises ModelError."""
    line = choice.line
    if line.method == "simulrag":
        return await paper.write(question, answer, choice, settings, ask)
    if settings.bounded_by_verdicts(line.budget_percent):
        reach = bounded(answer.claims, choice.selected)
        answer = answer.model_copy(update={"claims": reach})
    statements = statements_of(answer, choice)
    if line.method == "reconciled_complete" and answer.context:
        stated = [statement.text for statement in statements]
        uncovered = await uncovered_claims(question, answer.context, stated, ask)
        statements += tuple(Statement(text=text, standing="simulated") for text in uncovered)
    text = await write_reconciled(question, statements, ask)
    kept = tuple(sorted(item.claim for item in statements if item.claim is not None))
    return FinalText(
        line=line, text=text, selected=choice.selected, kept=kept, statements=statements
    )
