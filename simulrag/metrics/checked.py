"""The checked claim sets whose confidences are looked at: before, after, and after all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulrag.method.selection import select_by_budget
from simulrag.metrics.claim_level import OURS, ranked_claims
from simulrag.metrics.pool import PARTLY_VERIFIED, ClaimPool
from simulrag.metrics.ranking import Ranked
from simulrag.metrics.settings import UNDECIDED, MetricSettings, Undecided

BEFORE = "no-RAG"
AFTER_ALL = "all-RAG"
STATED = "Verbalized"


@dataclass(frozen=True)
class Checked:
    """Claims with the confidence they have when ``budget_percent`` of them were verified.

    ``confidence``: the centrality, or "verbalized". ``reason``: why nothing can be measured.
    """

    method: str
    budget_percent: int
    confidence: str
    undecided: Undecided
    claims: Ranked
    reason: str = ""

    @property
    def place(self) -> dict[str, object]:
        """The columns that name this set in a table."""
        return {
            "method": self.method,
            "budget_percent": self.budget_percent,
            "centrality": self.confidence,
            "undecided": self.undecided,
        }


def checked_sets(pool: ClaimPool, settings: MetricSettings) -> Iterator[Checked]:
    """Centrality and the model's own statement before, UE+SBA after each budget, and all verified.

    Each with undecided claims left out and counted false. Verified and decided claims have
    confidence 1; the labels are those of the text at that point.
    """
    candidates = pool.candidates(settings.centrality)
    stated = [0.0 if value is None else value for value in candidates.verbalized]
    partly = PARTLY_VERIFIED if pool.partly_verified else ""
    unasked = "" if pool.asked("boundary") else "the simulator boundary was not asked"
    unstated = "" if pool.asked("verbalized") else "verbalized confidence was not asked"
    plan = [
        (BEFORE, 0, settings.centrality, ""),
        (STATED, 0, "verbalized", unstated),
        *((OURS, b, settings.centrality, partly or unasked) for b in settings.budgets_percent),
        (AFTER_ALL, 100, settings.centrality, partly),
    ]
    for method, budget, confidence, reason in plan:
        selection = select_by_budget(
            candidates,
            "ue_sba" if method == OURS else "random",
            budget,
            settings.seed,
            per_question=settings.per_question,
        )
        scores = stated if method == STATED else candidates.confidence
        for undecided in UNDECIDED:
            claims = ranked_claims(pool, scores, selection, undecided, settings.all_selected_one)
            empty = "" if len(claims.scores) else "undefined: no labelled claim"
            yield Checked(method, budget, confidence, undecided, claims, reason or empty)
