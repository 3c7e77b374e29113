"""Step 8 over all questions: which claims, or whole subjects, each budget sends to the simulator.

Nothing here makes a call: experiments compare budgets over verdicts that are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulrag.method.baselines import first_sample, first_sample_selection
from simulrag.method.reconciliation import one_voice, uncertainty
from simulrag.method.selection import (
    Candidates,
    SubjectCandidates,
    candidates_of,
    in_development,
    kappa_from_quantile,
    select_among,
    select_subjects,
)
from simulrag.method.settings import MethodSettings
from simulrag.records import VOTES, Answer, Choice, Subject


def choose(drafts: Iterable[Answer], settings: MethodSettings) -> list[tuple[Choice, ...]]:
    """Step 8 for every draft: a choice a budget, ascending. A failed question selects nothing.

    Each draft is looked at once and not kept. By tau there is one choice. Where the method is the
    reconciled one, the paper's choices come first among the baselines.
    """
    pools: list[Candidates] = []
    firsts: list[tuple[int, ...]] = []
    sent: list[tuple[tuple[int, ...], ...]] = []
    topics: list[SubjectCandidates] = []
    shares: list[Candidates] = []
    for answer in drafts:
        pools.append(candidates_of([answer], settings.centrality))
        firsts.append(() if answer.failure is not None else first_sample(answer))
        if settings.method == "reconciled":
            sent.append(_sent(answer))
            topics.append(_topics(answer, sent[-1]))
            shares.append(candidates_of([answer], VOTES))
    budgets = settings.final_budgets_percent
    taken = budgets if settings.tau is None else budgets[-1:]
    chosen: list[list[Choice]] = []
    if settings.method == "paper" or settings.baselines:
        kappa = _kappa(pools, settings)
        chosen += [_by_claims(pools, firsts, budget, kappa, settings) for budget in taken]
    if settings.method == "reconciled":
        kappa = _kappa(shares, settings)
        chosen += [_by_subjects(sent, topics, budget, kappa, settings) for budget in taken]
    if settings.without_kappa:
        twins = (  # of a kappa that is 0 the answer is the same
            [one.model_copy(update={"kappa": 0.0}) for one in column]
            for column in chosen
            if any(one.kappa for one in column)
        )
        chosen = [*twins, *chosen]
    return list(zip(*chosen, strict=True))


def _by_claims(
    pools: Sequence[Candidates],
    firsts: Sequence[tuple[int, ...]],
    budget: float,
    kappa: float,
    settings: MethodSettings,
) -> list[Choice]:
    """The paper's choice in every question."""
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
    named = budget if settings.tau is None else None
    return [
        Choice(budget_percent=named, selected=claims, first_sample=first, kappa=kappa)
        for claims, first in zip(selected, own, strict=True)
    ]


def _by_subjects(
    sent: Sequence[tuple[tuple[int, ...], ...]],
    topics: Sequence[SubjectCandidates],
    budget: float,
    kappa: float,
    settings: MethodSettings,
) -> list[Choice]:
    """The choice of subjects in every question. ``sent``: the claims that each would send."""
    selected = select_subjects(
        topics, budget_percent=budget, pool=settings.pool, tau=settings.tau, seed=settings.seed
    )
    named = budget if settings.tau is None else None
    return [
        Choice(
            method="reconciled",
            budget_percent=named,
            selected=tuple(sorted(claim for at in chosen for claim in own[at])),
            subjects=chosen,
            kappa=kappa,
        )
        for own, chosen in zip(sent, selected, strict=True)
    ]


def _sent(answer: Answer) -> tuple[tuple[int, ...], ...]:
    """For each subject the claims that settle it: those in reach that would speak for it."""
    support = list(zip(*(claim.support for claim in answer.claims), strict=True))

    def speaking(subject: Subject) -> tuple[int, ...]:
        within = [claim for claim in subject.claims if answer.claims[claim].boundary]
        return one_voice(subject, support, within)

    return tuple(speaking(subject) for subject in answer.subjects)


def _topics(answer: Answer, sent: Sequence[tuple[int, ...]]) -> SubjectCandidates:
    if answer.failure is not None:
        return SubjectCandidates()
    support = list(zip(*(claim.support for claim in answer.claims), strict=True))
    checkable = bool(answer.evidence)
    return SubjectCandidates(
        uncertainty=tuple(uncertainty(subject, support) for subject in answer.subjects),
        within_reach=tuple(
            checkable and any(answer.claims[claim].boundary for claim in subject.claims)
            for subject in answer.subjects
        ),
        costs=tuple(len(claims) for claims in sent),
        claims=len(answer.claims),
    )


def _kappa(pools: Sequence[Candidates], settings: MethodSettings) -> float:
    """The given kappa, or the quantile of confidence over the development questions.

    Those are drawn by the hash of their id, so that adding questions moves nobody; where none
    falls into the part (one question asked by hand), all questions are.
    """
    if settings.kappa is not None:
        return settings.kappa
    complete = [claims for claims in pools if len(claims)]
    share = settings.kappa_development
    part = [claims for claims in complete if in_development(claims.question[0], share)]
    scores = [score for claims in part or complete for score in claims.confidence]
    return kappa_from_quantile(scores, settings.kappa_quantile) if scores else 0.0
