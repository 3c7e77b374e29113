"""Which claims each claim-level method verifies at each budget, and the claim set that leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulrag.method.selection import Candidates, select_by_budget
from simulrag.metrics.domain import DomainData
from simulrag.metrics.intervals import Floats
from simulrag.metrics.methods import (
    ALL_RAG,
    BUDGETED,
    NO_RAG,
    RANDOM,
    SELECTION,
    UE_SBA,
    VERBALIZED,
    VERBALIZED_BY_CENTRALITY,
)
from simulrag.metrics.pool import PARTLY_VERIFIED, TRUE, UNDECIDED, ClaimPool
from simulrag.metrics.ranking import METRICS, RankedClaims, measure
from simulrag.metrics.settings import MetricSettings, Undecided
from simulrag.metrics.table import Measurement

NO_VERBALIZED = "verbalized confidence was not asked"
NO_BOUNDARY = "the simulator boundary was not asked"


@dataclass(frozen=True)
class BudgetedMethod:
    """One line of the table before anything is measured.

    ``chosen``: the indices of the selected claims, those of each seed. ``scores``: what
    the method ranks unverified claims by. ``reason``: why it cannot be measured.
    """

    method: str
    budget_percent: int
    chosen: tuple[NDArray[np.int32], ...]
    scores: Floats
    reason: str = ""

    @property
    def share_spent(self) -> float | None:
        """Selected claims by all claims, the mean over seeds; None without claims."""
        claims = len(self.scores)
        return (
            sum(len(chosen) / claims for chosen in self.chosen) / len(self.chosen)
            if claims
            else None
        )


def stated_scores(pool: ClaimPool) -> Floats:
    """Return the stated confidence; a claim without one has 0."""
    return np.nan_to_num(pool.verbalized, nan=0.0)


@lru_cache(maxsize=1)
def plans_of(data: DomainData) -> Mapping[str, tuple[BudgetedMethod, ...]]:
    """Plan every line of the table, by centrality. No line where no answer was sampled."""
    if not data.ranks_claims:
        return dict.fromkeys(data.pool.confidence, ())
    shared: dict[tuple[str, int, int], NDArray[np.int32]] = {}
    return {
        centrality: tuple(_plan(data.pool, data.settings, centrality, shared))
        for centrality in data.pool.confidence
    }


def _plan(
    pool: ClaimPool,
    settings: MetricSettings,
    centrality: str,
    shared: dict[tuple[str, int, int], NDArray[np.int32]],
) -> Iterator[BudgetedMethod]:
    candidates = pool.candidates(centrality)
    confidence, stated = pool.confidence[centrality], stated_scores(pool)

    def chosen(method: str, budget: int, seed: int) -> NDArray[np.int32]:
        if SELECTION[method] not in ("random", "verbalized"):
            return _select(candidates, method, budget, seed)
        key = (SELECTION[method], budget, seed)
        if key not in shared:  # neither looks at centralities
            shared[key] = _select(candidates, method, budget, seed)
        return shared[key]

    yield BudgetedMethod(NO_RAG, 0, (chosen(RANDOM, 0, settings.seed),), confidence)
    for method in (*BUDGETED[:2], VERBALIZED_BY_CENTRALITY, *BUDGETED[2:]):
        reason = ""
        if method in (VERBALIZED, VERBALIZED_BY_CENTRALITY) and not pool.verbalized_asked:
            reason = NO_VERBALIZED
        if method == UE_SBA and not pool.boundary_asked:
            reason = NO_BOUNDARY
        if pool.partly_verified:
            reason = PARTLY_VERIFIED
        scores = stated if method == VERBALIZED else confidence
        for budget in settings.budgets_percent:
            picks = tuple(
                chosen(method, budget, settings.seed + seed)
                for seed in range(settings.selection_seeds)
            )
            yield BudgetedMethod(method, budget, picks, scores, reason if len(pool) else "")
    everything = (chosen(RANDOM, 100, settings.seed),)
    reason = PARTLY_VERIFIED if pool.partly_verified else ""
    yield BudgetedMethod(ALL_RAG, 100, everything, confidence, reason)


def _select(candidates: Candidates, method: str, budget: int, seed: int) -> NDArray[np.int32]:
    chosen = select_by_budget(candidates, SELECTION[method], budget, seed)
    return np.array(chosen, dtype=np.int32)  # a hundred such are held


def place_of(
    data: DomainData, setting: BudgetedMethod, family: str, centrality: str, undecided: Undecided
) -> Measurement:
    """Begin a row of a line of the table."""
    return Measurement(
        family=family,
        domain=data.domain,
        method=setting.method,
        budget_percent=setting.budget_percent,
        centrality=centrality,
        coverage=data.coverage,
        undecided=undecided,
    )


def ranked_claims(
    data: DomainData,
    setting: BudgetedMethod,
    undecided: Undecided,
    seed: int = 0,
    among: NDArray[np.bool_] | None = None,
) -> RankedClaims:
    """Rank the claims after the selection of a seed was verified: who is true, with which score.

    ``among``: the only claims to rank; all where it is None.
    """
    pool = data.pool
    selected = np.zeros(len(pool), dtype=bool)
    selected[setting.chosen[seed]] = True
    verified = selected if data.settings.all_selected_one else selected & pool.decided
    label = np.where(selected, pool.after, pool.before)
    counted = pool.usable & (label != UNDECIDED) if undecided == "excluded" else pool.usable
    counted = counted if among is None else counted & among
    return RankedClaims(
        scores=np.where(verified, 1.0, setting.scores)[counted],
        true=(label == TRUE)[counted],
        scenario=pool.scenario[counted],
        question=pool.question[counted],
    )


def measured_claims(
    data: DomainData, setting: BudgetedMethod, undecided: Undecided, weights: Floats
) -> tuple[dict[str, Floats], int]:
    """Measure the ranked claims a resample, as the mean over seeds; with the number of claims."""
    runs = len(setting.chosen)
    totals = {name: np.zeros(len(weights)) for name in METRICS}
    count = 0
    for seed in range(runs):
        ranked = ranked_claims(data, setting, undecided, seed)
        count += len(ranked.scores)
        for name, values in measure(ranked, weights).items():
            totals[name] += values
    return {name: total / runs for name, total in totals.items()}, round(count / runs)
