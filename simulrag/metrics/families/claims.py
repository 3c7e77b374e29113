"""Claim-level metrics: which selection of claims makes the checked set best, budget by budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import Estimate, Floats, estimate, estimates, ratio
from simulrag.metrics.methods import BASELINES, UE_SBA
from simulrag.metrics.pool import PARTLY_VERIFIED
from simulrag.metrics.ranking import METRICS, score_levels
from simulrag.metrics.selections import (
    NO_BOUNDARY,
    BudgetedMethod,
    measured_claims,
    place_of,
    plans_of,
    ranked_claims,
)
from simulrag.metrics.settings import TREATMENTS, Undecided
from simulrag.metrics.table import Measurement, Pair, compared, filled

COMPARED = ("f1", "aupr", "auroc")

Measured = dict[tuple[str, int], tuple[dict[str, Floats], int]]
"""By method and budget: each metric a resample, and how many claims it was taken over."""


@metric("claims", "comparisons")
def claims(data: DomainData) -> Iterator[Measurement]:
    """Measure every method x budget, and UE+SBA against each baseline on the same resamples.

    ``share_spent``: the selected claims by all claims. Every number is the mean over seeds.
    """
    stated: dict[tuple[str, int, str], tuple[dict[str, Floats], int]] = {}
    for centrality, plan in plans_of(data).items() if data.ranks_claims else ():
        for undecided in TREATMENTS:
            values: Measured = {}
            for setting in plan:
                key = (setting.method, setting.budget_percent)
                if setting.scores is data.pool.confidence[centrality]:
                    values[key] = _measure(data, setting, undecided)
                else:  # the same for every centrality
                    known = (*key, undecided)
                    if known not in stated:
                        stated[known] = _measure(data, setting, undecided)
                    values[key] = stated[known]
            yield from _rows(data, plan, values, centrality, undecided)
            yield from _compare(data, plan, values, centrality, undecided)


def _measure(
    data: DomainData, setting: BudgetedMethod, undecided: Undecided
) -> tuple[dict[str, Floats], int]:
    if setting.reason:
        return {name: np.full(len(data.weights), np.nan) for name in METRICS}, 0
    return measured_claims(data, setting, undecided, data.weights)


def _rows(
    data: DomainData,
    plan: tuple[BudgetedMethod, ...],
    values: Measured,
    centrality: str,
    undecided: Undecided,
) -> Iterator[Measurement]:
    lines = [(setting, name) for setting in plan for name in METRICS]
    results = iter(
        estimates(
            [values[setting.method, setting.budget_percent][0][name] for setting, name in lines],
            data.scenarios,
            [
                setting.reason
                or _undefined(name, values[setting.method, setting.budget_percent][1])
                for setting, name in lines
            ],
        )
    )
    for setting in plan:
        place = place_of(data, setting, "claims", centrality, undecided)
        count = values[setting.method, setting.budget_percent][1]
        for name in METRICS:
            yield filled(place, next(results), metric=name, n=count)
        spent = None if setting.reason else setting.share_spent
        reason = (setting.reason or "undefined: no claim") if spent is None else ""
        yield filled(place, Estimate(spent, reason=reason), metric="share_spent", n=len(data.pool))


def _undefined(name: str, count: int) -> str:
    if count == 0:
        return "undefined: no labelled claim"
    if name == "auroc":
        return "undefined: all claims have one label"
    if name in ("auroc_within", "aupr_within"):
        return "undefined: no question has both true and false claims"
    return "undefined: no true claim"


def _compare(
    data: DomainData,
    plan: tuple[BudgetedMethod, ...],
    values: Measured,
    centrality: str,
    undecided: Undecided,
) -> Iterator[Measurement]:
    """UE+SBA minus each baseline; Holm over baselines and budgets."""
    reasons = {(setting.method, setting.budget_percent): setting.reason for setting in plan}
    pairs = []
    for name in BASELINES:
        for budget in data.settings.budgets_percent:
            ours, theirs = values[UE_SBA, budget], values[name, budget]
            row = Measurement(
                family="comparisons",
                domain=data.domain,
                method=UE_SBA,
                budget_percent=budget,
                centrality=centrality,
                n=min(ours[1], theirs[1]),
                coverage=data.coverage,
                level="claim",
                undecided=undecided,
                baseline=name,
            )
            reason = reasons[UE_SBA, budget] or reasons[name, budget]
            pairs.append(Pair(row, ours[0], theirs[0], reason))
    yield from compared(pairs, COMPARED, data.scenarios)


_RECALLS = np.linspace(0.02, 1.0, 50)


@metric("precision_recall")
def precision_recall(data: DomainData) -> Iterator[Measurement]:
    """Measure precision at 50 recalls (``x``) by method at each budget, none and all verified.

    Of the leading variant: the highest threshold that reaches a recall gives its precision, and
    ``n``, the claims that it keeps. A line is that of the first seed. Nothing where no claim is
    true, or where the method could not be measured.
    """
    settings = data.settings
    for setting in plans_of(data)[settings.centrality]:
        if setting.reason:
            continue
        ranked = ranked_claims(data, setting, settings.undecided)
        if not ranked.true.any():
            continue
        # A threshold takes all claims of one score.
        place = place_of(data, setting, "precision_recall", settings.centrality, settings.undecided)
        group = score_levels(ranked.scores)
        hits = np.cumsum(np.bincount(group, weights=ranked.true))
        kept = np.cumsum(np.bincount(group))
        at = np.searchsorted(hits / hits[-1], _RECALLS - 1e-9)
        for level, value, count in zip(_RECALLS, (hits / kept)[at], kept[at], strict=True):
            yield replace(
                place,
                metric="precision",
                value=float(value),
                n=int(count),
                more={"x": float(level)},
            )


@metric("boundary")
def boundary(data: DomainData) -> Iterator[Measurement]:
    """Measure how well the simulator boundary foresees what verification can decide.

    ``filtered``: claims judged outside the boundary, of all claims asked. ``kept_decided``: claims
    inside it that verification decided, of those verified. ``filtered_decidable``: claims outside
    it that verification decided all the same: what the filter lost. The latter two are undefined
    where verification saw only selected claims: the least confident do not stand for all.
    """
    if not data.ranks_claims:
        return
    pool = data.pool
    place = Measurement(family="boundary", domain=data.domain, coverage=data.coverage)
    inside, outside = pool.boundary == 1, pool.boundary == 0
    asked = inside | outside
    verified = pool.verified & (not pool.partly_verified)
    no_inside, no_outside = "no claim inside was verified", "no claim outside was verified"
    if pool.partly_verified:
        no_inside = no_outside = PARTLY_VERIFIED
    for name, part, whole, reason in (
        ("filtered", outside, asked, NO_BOUNDARY),
        ("kept_decided", pool.decided, inside & verified, no_inside),
        ("filtered_decidable", pool.decided, outside & verified, no_outside),
    ):
        top, bottom = (part & whole).astype(float), whole.astype(float)
        values = ratio(top, bottom, pool.scenario, data.weights)
        result = estimate(values, data.scenarios, reason)
        yield filled(place, result, metric=name, n=int(whole.sum()))
