"""Algorithm 1 of SimulRAG (Xu et al. 2025): draft a question, choose among all, conclude it.

``draft`` is what needs no other question: evidence, sampled answers, claims, confidence, boundary.
``choose`` spends the budgets over all questions and makes no call. ``conclude`` verifies, keeps and
writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.method.answering import (
    FinalWay,
    baseline_ways,
    final_texts,
    first_sample,
    first_sample_selection,
    first_sample_way,
    synthesize,
)
from simulrag.method.asking import both, together
from simulrag.method.recipes import FinalKind, Recipe
from simulrag.method.selection import candidates_of, development_kappa, keep, select_among
from simulrag.method.settings import MethodSettings
from simulrag.method.steps import (
    Backends,
    QuestionState,
    boundary,
    merge,
    retrieve_evidence,
    sample,
    scored,
    stated,
    step,
    support,
    verify,
    verify_selected,
)
from simulrag.models.base import Asker
from simulrag.records import DECIDED, Answer, AnswerVariant, FinalText, Question, Selection

Columns = list[list[Selection]]
"""A column a budget, a choice a question."""
SAMPLED = ("closed_book", "decompose", "merge")
"""The steps that find a question's claims."""


async def draft(question: Question, use: Backends, settings: MethodSettings) -> Answer:
    """Do steps 1 to 7, and with ``verify: all`` the verdicts, for one question.

    A failure of the model or the simulator is the answer's ``failure``. Raises CallsPending where
    calls wait for a batch, after all that needs no reply of theirs was asked.
    """
    work = QuestionState(question, use)
    with work.ending():
        await together([retrieve_evidence(work, settings), find_claims(work, settings)])
        if settings.verify == "all":
            await verify(work, range(len(work.answer.claims)), settings)
    return work.answer


async def find_claims(work: QuestionState, settings: MethodSettings) -> None:
    """Sample, find the claims, and what is known of each without the evidence."""
    sets = await sample(work, settings)
    merged = await merge(work, sets)
    rows, (inside, probabilities) = await both(
        support(work, merged),
        both(boundary(work, merged, settings), stated(work, merged, settings)),
    )
    work.note(claims=scored(merged, rows, inside, probabilities, work.use.centralities))


def choose(drafts: Sequence[Answer], settings: MethodSettings) -> list[tuple[Selection, ...]]:
    """Do step 8 for every draft: a choice a budget, ascending. A failed question selects nothing.

    By tau there is one choice.
    """
    return list(zip(*with_twins(columns(drafts, settings), settings), strict=True))


def columns(drafts: Sequence[Answer], settings: MethodSettings) -> Columns:
    """Select what each budget verifies: the least confident claims within the boundary."""
    pools = [candidates_of([answer], settings.centrality) for answer in drafts]
    firsts = [() if draft.failure is not None else first_sample(draft) for draft in drafts]
    kappa = development_kappa(pools, settings)
    by_budget = []
    for budget in budgets_of(settings):
        selected = select_among(
            pools, budget_percent=budget, pool=settings.pool, tau=settings.tau, seed=settings.seed
        )
        own = first_sample_selection(
            pools,
            firsts,
            budget_percent=budget,
            by_question=settings.pool == "question",
            seed=settings.seed,
        )
        line = line_of(budget, kappa, settings)
        by_budget.append(
            [
                Selection(line=line, selected=claims, first_sample=first)
                for claims, first in zip(selected, own, strict=True)
            ]
        )
    return by_budget


async def conclude(
    question: Question,
    begun: Answer,
    choices: Sequence[Selection],
    use: Backends,
    settings: MethodSettings,
) -> Answer:
    """Do steps 9 and 10: verdicts on what was chosen, the kept claims and the final answers.

    The last choice, of the largest budget, makes ``final``; the others, m = 1 and the answers to
    compare with are in ``baselines``. A draft that failed stays as it is. Raises CallsPending as
    ``draft`` does.
    """
    if begun.failure is not None:
        return begun
    work = QuestionState(question, use, begun)
    with work.ending():
        await _finals(work, choices, settings)
    return work.answer


async def _finals(
    work: QuestionState, choices: Sequence[Selection], settings: MethodSettings
) -> None:
    """Verify what was chosen, and write a final text each; the last is the answer."""
    await verify_selected(work, choices, settings)
    beside = compared(work, choices[:-1], choices, settings)
    _, others = await both(_synthesise(work, choices[-1], settings), beside)
    work.note(baselines=others)


async def _synthesise(work: QuestionState, choice: Selection, settings: MethodSettings) -> None:
    """Write the answer itself."""
    with step("synthesise"):
        final = await write(work.text, work.answer, choice, settings, work.ask)
    verdicts = (work.answer.claims[i].verdict for i in final.selected)
    work.note(
        final=final,
        verified=any(verdict is not None and verdict.status in DECIDED for verdict in verdicts),
    )


async def compared(
    work: QuestionState,
    written: Sequence[Selection],
    choices: Sequence[Selection],
    settings: MethodSettings,
) -> tuple[FinalText, ...]:
    """Write answers to compare with: RAG's, of one sample by ``choices``, those to be ``written``.

    Their calls are counted in each text, not in the answer's own usage.
    """
    answer, ways = work.answer, list[FinalWay]()
    if "rag" in settings.beside:
        ways += baseline_ways(work.text, answer)
    if settings.beside:
        kappa = max((choice.kappa for choice in choices), default=0.0)
        ways += [
            way
            for choice in reversed(choices)
            if choice.kappa == kappa  # at m = 1 it drops nothing
            for way in first_sample_way(work.text, answer, choice)
        ]
    for choice in reversed(written):

        async def text_of(own: Asker, choice: Selection = choice) -> FinalText:
            return await write(work.text, answer, choice, settings, own)

        ways.append(FinalWay(FinalText(line=choice.line, selected=choice.selected), text_of))
    return await final_texts(ways, work.use.ask)


async def write(
    question: str, answer: Answer, choice: Selection, settings: MethodSettings, ask: Asker
) -> FinalText:
    """Write the final answer of one choice, from its kept claims alone. Raises ModelError."""
    claims, chosen = answer.claims, set(choice.selected)
    kept = keep(claims, choice.selected, choice.kappa, settings.centrality)
    texts = [claims[i].after if i in chosen else claims[i].text for i in kept]
    final = await synthesize(question, tuple(dict.fromkeys(texts)), ask)
    return FinalText(line=choice.line, text=final, selected=choice.selected, kept=kept)


def budgets_of(settings: MethodSettings) -> Sequence[float]:
    """Return the budgets that choices are made for; by tau there is one choice."""
    budgets = settings.final_budgets_percent
    return budgets if settings.tau is None else budgets[-1:]


def line_of(budget_percent: float, kappa: float, settings: MethodSettings) -> AnswerVariant:
    """Return the line that choices of a budget belong to; by tau it has none."""
    budget = budget_percent if settings.tau is None else None
    return AnswerVariant(
        method="simulrag", samples=settings.samples, budget_percent=budget, kappa=kappa
    )


def with_twins(by_budget: Columns, settings: MethodSettings) -> Columns:
    """Add each column a second time, with a kappa of 0, where ``without_kappa`` says so."""
    if not settings.without_kappa:
        return by_budget
    twins = [  # of a kappa that is 0 the answer is the same
        [relined(choice, kappa=0.0) for choice in column]
        for column in by_budget
        if any(choice.kappa for choice in column)
    ]
    return [*twins, *by_budget]


def relined(choice: Selection, **changes: object) -> Selection:
    """Choose the same claims for a line that differs in ``changes``."""
    line = choice.line.model_copy(update=changes)
    return choice.model_copy(update={"line": line})


RECIPE = Recipe(
    FinalKind(
        "simulrag",
        in_turn=(
            ("plan", "closed_book"),
            ("decompose",),
            ("merge",),
            ("entailment", "boundary"),
            ("verify",),
            ("final",),
        ),
        shares=(*SAMPLED, "entailment", "boundary", "plan", "verify"),
        by_sample=("closed_book", "decompose"),
        of_several=("merge", "entailment"),
    ),
    draft=draft,
    choose=choose,
    conclude=conclude,
)
