"""Claim-level metrics: which selection of claims makes the checked set best, budget by budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulrag.method.selection import Candidates, Selection, SelectionMethod, select_by_budget
from simulrag.metrics.intervals import (
    Floats,
    estimate,
    holm,
    relative_gain,
    scenario_weights,
    two_sided_p,
)
from simulrag.metrics.pool import PARTLY_VERIFIED, ClaimPool
from simulrag.metrics.ranking import METRICS, Ranked, measure
from simulrag.metrics.settings import UNDECIDED, MetricSettings, Undecided

Row = dict[str, object]

BASELINES = ("Random", "Verbalized", "Uncertainty")
OURS = "UE+SBA"
BUDGETED = (*BASELINES, OURS)
VERBALIZED_BY_CENTRALITY = "Verbalized, centrality rank"
COMPARED = ("f1", "aupr", "auroc")

_SELECTION: dict[str, SelectionMethod] = {
    "Random": "random",
    "Verbalized": "verbalized",
    VERBALIZED_BY_CENTRALITY: "verbalized",
    "Uncertainty": "uncertainty",
    OURS: "ue_sba",
}


@dataclass(frozen=True)
class Setting:
    """One line of the table before anything is measured.

    ``chosen``: one selection, or for Random one a seed. ``reason``: why it cannot be measured.
    """

    method: str
    budget_percent: int
    chosen: tuple[Selection, ...]
    reason: str = ""


def claim_level(pool: ClaimPool, settings: MetricSettings) -> tuple[list[Row], list[Row]]:
    """All measurements of a domain, and the paired comparisons of UE+SBA with every baseline."""
    weights = scenario_weights(pool.scenarios, settings.bootstrap, settings.seed, pool.domain)
    rows: list[Row] = []
    comparisons: list[Row] = []
    for centrality in settings.centralities:
        candidates = pool.candidates(centrality)
        plan = list(plan_of(pool, candidates, settings))
        reasons = {(s.method, s.budget_percent): s.reason for s in plan}
        for undecided in UNDECIDED:
            values: dict[tuple[str, int], dict[str, Floats]] = {}
            labels = {"centrality": centrality, "undecided": undecided}
            for setting in plan:
                found, count = _measure(
                    pool,
                    candidates,
                    setting,
                    weights,
                    undecided=undecided,
                    all_selected_one=settings.all_selected_one,
                )
                values[setting.method, setting.budget_percent] = found
                rows += _rows(pool, setting, found, count, labels)
            comparisons += _compare(pool, values, reasons, settings, labels)
    return rows, comparisons


def plan_of(pool: ClaimPool, candidates: Candidates, settings: MetricSettings) -> Iterator[Setting]:
    """Every line of the table for one centrality: which claims each method x budget verifies."""

    def chosen(method: str, budget: int, seed: int) -> Selection:
        return select_by_budget(
            candidates, _SELECTION[method], budget, seed, per_question=settings.per_question
        )

    yield Setting("no-RAG", 0, (chosen("Random", 0, settings.seed),))
    for method in (*BUDGETED[:2], VERBALIZED_BY_CENTRALITY, *BUDGETED[2:]):
        reason = ""
        if method in ("Verbalized", VERBALIZED_BY_CENTRALITY) and not pool.asked("verbalized"):
            reason = "verbalized confidence was not asked"
        if method == OURS and not pool.asked("boundary"):
            reason = "the simulator boundary was not asked"
        if pool.partly_verified:
            reason = PARTLY_VERIFIED
        seeds = settings.random_seeds if method == "Random" else 1
        for budget in settings.budgets_percent:
            picks = tuple(chosen(method, budget, settings.seed + seed) for seed in range(seeds))
            yield Setting(method, budget, picks, reason if pool.claims else "")
    everything = (chosen("Random", 100, settings.seed),)
    yield Setting("all-RAG", 100, everything, PARTLY_VERIFIED if pool.partly_verified else "")


def _measure(
    pool: ClaimPool,
    candidates: Candidates,
    setting: Setting,
    weights: Floats,
    *,
    undecided: Undecided,
    all_selected_one: bool,
) -> tuple[dict[str, Floats], int]:
    """Metrics a resample, averaged over seeds, and the (mean) number of claims behind them."""
    if setting.reason:
        return {name: np.full(len(weights), np.nan) for name in METRICS}, 0
    scores = ranking_scores(candidates, setting.method)
    totals: dict[str, Floats] = {}
    counts = []
    for selection in setting.chosen:
        ranked = ranked_claims(pool, scores, selection, undecided, all_selected_one)
        counts.append(len(ranked.scores))
        for name, values in measure(ranked, weights).items():
            totals[name] = totals[name] + values if name in totals else values
    runs = len(setting.chosen)
    return {name: total / runs for name, total in totals.items()}, round(sum(counts) / runs)


def ranking_scores(candidates: Candidates, method: str) -> Sequence[float]:
    """What a method ranks unverified claims by; a claim without a stated confidence has 0."""
    if method == "Verbalized":
        return [0.0 if value is None else value for value in candidates.verbalized]
    return candidates.confidence


def ranked_claims(
    pool: ClaimPool,
    scores: Sequence[float],
    selection: Selection,
    undecided: Undecided,
    all_selected_one: bool,
) -> Ranked:
    """The claim set after this selection was verified: who is true, and with which score."""
    selected = np.zeros(len(pool.claims), dtype=bool)
    selected[list(selection.chosen)] = True
    verified = selected if all_selected_one else selected & pool.decided
    label: NDArray[np.str_] = np.where(selected, pool.after, pool.before)
    counted = pool.usable & (label != "undecided") if undecided == "excluded" else pool.usable
    return Ranked(
        scores=np.where(verified, 1.0, np.asarray(scores, dtype=float))[counted],
        true=(label == "true")[counted],
        scenario=pool.scenario[counted],
        question=pool.question[counted],
    )


def _rows(
    pool: ClaimPool,
    setting: Setting,
    found: dict[str, Floats],
    count: int,
    labels: dict[str, str],
) -> Iterator[Row]:
    place: Row = {
        "domain": pool.domain,
        "method": setting.method,
        "budget_percent": setting.budget_percent,
        **labels,
    }
    shown = {"n": count, "coverage": pool.coverage}
    for metric in METRICS:
        reason = setting.reason or _undefined(metric, count)
        result = estimate(found[metric], pool.scenarios, reason)
        yield {
            **place,
            "metric": metric,
            "value": result.value,
            "lower_95": result.lower_95,
            "upper_95": result.upper_95,
            **shown,
            "reason": result.reason,
        }
    shares = [s.share_spent for s in setting.chosen if s.share_spent is not None]
    spent = sum(shares) / len(shares) if shares and not setting.reason else None
    yield {
        **place,
        "metric": "share_spent",
        "value": spent,
        "lower_95": None,
        "upper_95": None,
        "n": len(pool.claims),
        "coverage": pool.coverage,
        "reason": (setting.reason or "undefined: no claim") if spent is None else "",
    }


def _undefined(metric: str, count: int) -> str:
    if count == 0:
        return "undefined: no labelled claim"
    if metric == "auroc":
        return "undefined: all claims have one label"
    if metric in ("auroc_within", "aupr_within"):
        return "undefined: no question has both true and false claims"
    return "undefined: no true claim"


def _compare(
    pool: ClaimPool,
    values: dict[tuple[str, int], dict[str, Floats]],
    reasons: dict[tuple[str, int], str],
    settings: MetricSettings,
    labels: dict[str, str],
) -> Iterator[Row]:
    """UE+SBA minus each baseline, on the same resamples; Holm over baselines and budgets."""
    pairs = [(name, budget) for name in BASELINES for budget in settings.budgets_percent]
    for metric in COMPARED:
        gaps = [values[OURS, b][metric] - values[name, b][metric] for name, b in pairs]
        raw = [two_sided_p(gap) if pool.scenarios > 1 else None for gap in gaps]
        for (name, budget), gap, p, adjusted in zip(pairs, gaps, raw, holm(raw), strict=True):
            reason = reasons[OURS, budget] or reasons[name, budget]
            result = estimate(gap, pool.scenarios, reason or "undefined for one of the two")
            ours, theirs = values[OURS, budget][metric], values[name, budget][metric]
            gain = estimate(relative_gain(ours, theirs), pool.scenarios, "")
            yield {
                "domain": pool.domain,
                "level": "claim",
                "method": OURS,
                "samples": None,
                "baseline": name,
                "baseline_samples": None,
                "budget_percent": budget,
                **labels,
                "metric": metric,
                "difference": result.value,
                "lower_95": result.lower_95,
                "upper_95": result.upper_95,
                "gain_percent": gain.value,
                "gain_lower_95": gain.lower_95,
                "gain_upper_95": gain.upper_95,
                "p": p,
                "p_holm": adjusted,
                "reason": result.reason,
            }
