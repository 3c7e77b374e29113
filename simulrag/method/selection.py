"""Which claims are sent to the simulator, and which of the checked set go into the answer."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simulrag.errors import InputError
from simulrag.method.settings import MethodSettings
from simulrag.records import DECIDED, Answer, Claim

SelectionMethod = Literal["random", "verbalized", "uncertainty", "ue_sba"]


@dataclass(frozen=True)
class Candidates:
    """The claims of a pool, one entry a claim in every sequence.

    ``question`` groups claims (any hashable identity). ``confidence`` is the centrality before
    verification. None in ``verbalized`` or ``boundary`` means that it was not asked: such a claim
    cannot be selected by it. ``checkable``: the question has evidence to verify against; a claim
    without it counts in the pool that the budget is a share of, and is selected by no method.
    """

    question: Sequence[str]
    confidence: Sequence[float]
    verbalized: Sequence[float | None]
    boundary: Sequence[bool | None]
    checkable: Sequence[bool]

    def __len__(self) -> int:
        return len(self.question)

    def part(self, indices: Sequence[int]) -> Candidates:
        """Return some of the claims, in the order given."""
        columns = vars(self).items()
        return Candidates(**{name: [column[i] for i in indices] for name, column in columns})

    @classmethod
    def pooled(cls, questions: Sequence[Candidates]) -> Candidates:
        """Put the claims of several questions into one pool."""
        names = [column.name for column in fields(cls)]
        return cls(**{n: [entry for own in questions for entry in getattr(own, n)] for n in names})


def candidates_of(answers: Sequence[Answer], centrality: str = "closeness") -> Candidates:
    """Pool several questions' claims, in the order given; failed questions have none.

    Raises InputError where a claim has no confidence of that name.
    """
    pool = [(answer, claim) for answer in answers for claim in _claims(answer)]
    return Candidates(
        question=[answer.question_id for answer, _ in pool],
        confidence=[confidence_before(claim, centrality) for _, claim in pool],
        verbalized=[claim.verbalized for _, claim in pool],
        boundary=[claim.boundary for _, claim in pool],
        checkable=[bool(answer.evidence) for answer, _ in pool],
    )


def select_among(
    questions: Sequence[Candidates],
    *,
    budget_percent: float,
    pool: Literal["domain", "question"] = "domain",
    tau: float | None = None,
    seed: int,
) -> list[tuple[int, ...]]:
    """UE+SBA's selection: for every question the indices of its claims to verify, ascending.

    By budget (``pool``: a share of all claims, or of each question's own), or by ``tau`` where it
    is given.
    """
    candidates = Candidates.pooled(questions)
    if tau is None:
        by_question = pool == "question"
        chosen = select_by_budget(
            candidates, "ue_sba", budget_percent, seed, per_question=by_question
        )
    else:
        chosen = select_by_threshold(candidates, tau)
    picked = frozenset(chosen)
    selected = []
    start = 0
    for own in questions:
        selected.append(tuple(i for i in range(len(own)) if start + i in picked))
        start += len(own)
    return selected


def in_development(question_id: str, share: float) -> bool:
    """Tell whether a question belongs to the development part, by the hash of its id."""
    digest = hashlib.sha256(f"development {question_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < share


def confidence_before(claim: Claim, centrality: str = "closeness") -> float:
    """Return the confidence before verification. Raises InputError where it was not computed."""
    if centrality not in claim.confidence:
        known = ", ".join(sorted(claim.confidence)) or "none"
        raise InputError(
            f"claim '{claim.text[:60]}' has no {centrality} confidence (it has: {known}): "
            "add the centrality to the answer stage's parameters and run it again"
        )
    return claim.confidence[centrality]


def budget_count(budget_percent: float, claims: int) -> int:
    """Count the claims that a budget buys: that share of all claims, a half rounded up.

    Raises InputError outside 0 to 100 %.
    """
    if not 0 <= budget_percent <= 100:
        raise InputError(f"budget {budget_percent} % is impossible: give a number from 0 to 100")
    # Exact arithmetic: 0.15 * 10 is below 1.5 in floating point.
    return math.floor(Fraction(str(budget_percent)) * claims / 100 + Fraction(1, 2))


def select_by_budget(
    candidates: Candidates,
    method: SelectionMethod,
    budget_percent: float,
    seed: int,
    *,
    per_question: bool = False,
) -> tuple[int, ...]:
    """Select the least confident claims that the budget buys: their indices, ascending.

    - ``random``: any claims; ``verbalized``: the lowest verbalized confidence; ``uncertainty``: the
      lowest centrality; ``ue_sba``: the lowest centrality among claims inside the simulator's
      boundary.

    The budget is a share of all claims pooled, or with ``per_question`` of each question's own.
    Every method spends the same count unless fewer claims are eligible. Ties are broken by a
    shuffle that ``seed`` fixes.
    """
    order = _shuffled(len(candidates), seed)
    eligible = order[_eligible(candidates, method)[order]]
    if method != "random":
        confidences = candidates.verbalized if method == "verbalized" else candidates.confidence
        scores = np.array([value or 0.0 for value in confidences])
        eligible = eligible[np.argsort(scores[eligible], kind="stable")]
    left = _budgets(candidates, budget_percent, per_question)
    if per_question:
        chosen = []
        for index in eligible.tolist():
            if left[candidates.question[index]] > 0:
                left[candidates.question[index]] -= 1
                chosen.append(index)
    else:
        chosen = eligible[: left[""]].tolist()
    return tuple(sorted(chosen))


@lru_cache(maxsize=64)
def _shuffled(count: int, seed: int) -> NDArray[np.int64]:
    """Shuffle 0 to ``count`` - 1 as ``seed`` fixes; kept, since every budget asks for it."""
    order = list(range(count))
    random.Random(seed).shuffle(order)  # noqa: S311 - ties, not secrets
    shuffled = np.array(order, dtype=np.int64)
    shuffled.flags.writeable = False
    return shuffled


def select_by_threshold(candidates: Candidates, tau: float) -> tuple[int, ...]:
    """Select claims with a confidence below ``tau``, inside the boundary.

    This is Algorithm 1's line 12. Raw closeness moves with the number of answers and claims, so a
    ``tau`` that fits one domain need not fit another; budgets are the default.
    """
    return tuple(
        index
        for index, confidence in enumerate(candidates.confidence)
        if confidence < tau and candidates.checkable[index] and candidates.boundary[index] is True
    )


def kappa_from_quantile(confidences: Sequence[float], quantile: float) -> float:
    """Take the confidence below which claims are dropped: a quantile of those before verification.

    It is always one of ``confidences`` (the lower neighbour), so that claims which share that
    value are kept, whatever rounding does.
    """
    return float(np.quantile(np.asarray(confidences, dtype=float), quantile, method="lower"))


def development_kappa(pools: Sequence[Candidates], settings: MethodSettings) -> float:
    """Return the given kappa, or the quantile of confidence over the development questions.

    Those are drawn by the hash of their id, so that adding questions moves none; where none
    falls into the part (one question asked by hand), all questions are.
    """
    if settings.kappa is not None:
        return settings.kappa
    complete = [claims for claims in pools if len(claims)]
    share = settings.kappa_development
    part = [claims for claims in complete if in_development(claims.question[0], share)]
    scores = [score for claims in part or complete for score in claims.confidence]
    return kappa_from_quantile(scores, settings.kappa_quantile) if scores else 0.0


def confidence_after(claim: Claim, selected: bool, centrality: str = "closeness") -> float:
    """Return the confidence after verification; ``selected`` says whether the claim was verified.

    Aligned and contradicted claims take 1, all others keep theirs.
    """
    if selected and claim.verdict is not None and claim.verdict.status in DECIDED:
        return 1.0
    return confidence_before(claim, centrality)


def keep(
    claims: Sequence[Claim], selected: Sequence[int], kappa: float, centrality: str = "closeness"
) -> tuple[int, ...]:
    """Return indices of the claims whose confidence after verification is at least ``kappa``."""
    verified = frozenset(selected)
    return tuple(
        index
        for index, claim in enumerate(claims)
        if confidence_after(claim, index in verified, centrality) >= kappa
    )


def _claims(answer: Answer) -> tuple[Claim, ...]:
    # A question that failed half-way may hold claims without confidence.
    return () if answer.failure is not None else answer.claims


def _eligible(candidates: Candidates, method: SelectionMethod) -> NDArray[np.bool_]:
    within: list[bool] = list(candidates.checkable)
    if method == "verbalized":
        within = [value is not None for value in candidates.verbalized]
    elif method == "ue_sba":
        within = [value is True for value in candidates.boundary]
    eligible: NDArray[np.bool_] = np.logical_and(candidates.checkable, within)
    return eligible


def _budgets(candidates: Candidates, budget_percent: float, per_question: bool) -> dict[str, int]:
    if not per_question:
        return {"": budget_count(budget_percent, len(candidates))}
    sizes: dict[str, int] = {}
    for question in candidates.question:
        sizes[question] = sizes.get(question, 0) + 1
    return {question: budget_count(budget_percent, size) for question, size in sizes.items()}
