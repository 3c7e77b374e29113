"""How well scores rank true claims above false ones, for many resamples at once.

Scenarios are resampled, so a resample is a weight for each scenario. Claims of one score form a
group; true and false weight of each group, summed over scenarios, is all that any metric needs.
The first row of weights is all ones: the value itself comes from the same code as its interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POOLED = ("f1", "precision", "recall", "aupr", "auroc", "true_share")
WITHIN = ("auroc_within", "aupr_within")
METRICS = (*POOLED, *WITHIN)

# Scores that differ by less are ties: centralities carry rounding noise of about 1e-16.
_DECIMALS = 9

# With more distinct scores than this, neighbouring ones are joined in the resamples alone: their
# spread around the exact value is kept, and memory and time no longer grow with claims squared.
_FINE = 400


@dataclass(frozen=True)
class Ranked:
    """Claims to rank, one entry a claim: score, truth, and the indices of scenario and question."""

    scores: Floats
    true: NDArray[np.bool_]
    scenario: Ints
    question: Ints


def measure(ranked: Ranked, weights: Floats) -> dict[str, Floats]:
    """Every metric of ``METRICS`` for every resample; NaN where it is undefined there.

    ``weights``: resamples x scenarios. AUROC counts ties half (midrank); AUPR is average
    precision; F1, precision and recall stand at the threshold where precision and recall are
    closest, found anew in each resample (of equally close ones the one with the best F1). The
    ``within`` metrics average each question's own over the questions where they are defined.
    """
    group = score_levels(ranked.scores)
    groups = int(group.max(initial=-1)) + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        if groups <= _FINE:
            pooled = _pooled(*_grouped(ranked, group, weights))
        else:
            exact = _pooled(*_grouped(ranked, group, weights[:1]))
            coarse = _pooled(*_grouped(ranked, _coarse(group, groups), weights))
            pooled = {name: coarse[name] - coarse[name][0] + exact[name][0] for name in POOLED}
        return {**pooled, **_within(ranked, weights)}


def score_levels(scores: Floats) -> Ints:
    """The group of every claim, best score first; equal scores share one."""
    found: Ints = np.unique(-np.round(scores, _DECIMALS), return_inverse=True)[1]
    return found


def _coarse(group: Ints, groups: int) -> Ints:
    """Neighbouring groups joined into at most twice ``_FINE`` of about equal size.

    A group that is larger than its share, such as all verified claims, stays by itself.
    """
    sizes = np.bincount(group, minlength=groups)
    share = math.ceil(len(group) / _FINE)
    # The middle of a group's ranks says which part it falls into; a large one fills a part alone.
    middle = np.cumsum(sizes) - sizes / 2
    part = (middle // share).astype(np.int64) * 2 + (sizes > share)
    found: Ints = np.unique(np.maximum.accumulate(part), return_inverse=True)[1][group]
    return found


def _grouped(ranked: Ranked, group: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """True and false weight: groups (best score first) x resamples."""
    shape = (int(group.max(initial=-1)) + 1, weights.shape[1])

    def total(mask: NDArray[np.bool_]) -> Floats:
        ones = np.ones(int(mask.sum()))
        counts = sparse.csr_array((ones, (group[mask], ranked.scenario[mask])), shape=shape)
        summed: Floats = counts @ weights.T
        return summed

    return total(ranked.true), total(~ranked.true)


def _pooled(true: Floats, false: Floats) -> dict[str, Floats]:
    hits = np.cumsum(true, axis=0)
    taken = hits + np.cumsum(false, axis=0)
    resamples = true.shape[1]
    if len(hits) == 0:
        return {name: np.full(resamples, np.nan) for name in POOLED}
    positives = hits[-1]
    negatives = taken[-1] - positives
    precision = np.where(taken > 0, hits / taken, 0.0)
    recall = hits / positives
    above = hits - true
    auroc = (false * (above + true / 2)).sum(axis=0) / (positives * negatives)
    aupr = (true * precision).sum(axis=0) / positives
    f1 = 2 * hits / (taken + positives)
    # Where nothing true is taken both are 0: equal, and no balance. F1 decides between equals.
    distance = np.where(hits > 0, np.abs(precision - recall), np.inf)
    best = np.argmin(distance - 1e-9 * f1, axis=0)
    column = np.arange(resamples)
    undefined = positives == 0
    found = {
        "f1": f1[best, column],
        "precision": precision[best, column],
        "recall": recall[best, column],
        "aupr": aupr,
    }
    found = {name: np.where(undefined, np.nan, values) for name, values in found.items()}
    return {**found, "auroc": auroc, "true_share": positives / taken[-1]}


def _within(ranked: Ranked, weights: Floats) -> dict[str, Floats]:
    """Each question's AUROC and AUPR, averaged with the weight of its scenario."""
    if len(ranked.scores) == 0:
        return {name: np.full(len(weights), np.nan) for name in WITHIN}
    questions, row = np.unique(ranked.question, return_inverse=True)
    order = np.argsort(row, kind="stable")
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    shape = (len(questions), int(place.max()) + 1)
    scores = np.full(shape, np.nan)
    scores[row[order], place] = np.round(ranked.scores[order], _DECIMALS)
    positive = np.zeros(shape)
    positive[row[order], place] = ranked.true[order]
    negative = np.where(np.isnan(scores), 0.0, 1.0 - positive)
    # Comparisons with the NaN that pads short questions are false, so padding never counts.
    higher = (scores[:, :, None] > scores[:, None, :]).astype(float)
    equal = (scores[:, :, None] == scores[:, None, :]).astype(float)
    wins = np.einsum("qi,qij,qj->q", positive, higher + equal / 2, negative, optimize=True)
    # at_least[q, i, j]: claim j scores at least as much as claim i.
    at_least = np.swapaxes(higher, 1, 2) + equal
    hits = np.einsum("qij,qj->qi", at_least, positive)
    taken = hits + np.einsum("qij,qj->qi", at_least, negative)
    positives, negatives = positive.sum(axis=1), negative.sum(axis=1)
    precision = np.where(taken > 0, hits / taken, 0.0)
    values = {
        "auroc_within": wins / (positives * negatives),
        "aupr_within": (positive * precision).sum(axis=1) / positives,
    }
    scenario = np.zeros(len(questions), dtype=np.int64)
    scenario[row] = ranked.scenario
    # A question whose claims are all true ranks perfectly whatever the scores: it says nothing.
    return {name: _mean(value, weights, scenario, negatives > 0) for name, value in values.items()}


def _mean(values: Floats, weights: Floats, scenario: Ints, mixed: NDArray[np.bool_]) -> Floats:
    """The mean of the questions' values, each with the weight of its scenario, a resample each."""
    defined = np.isfinite(values) & mixed
    where, count = scenario[defined], weights.shape[1]
    total = weights @ np.bincount(where, weights=values[defined], minlength=count)
    found: Floats = total / (weights @ np.bincount(where, minlength=count).astype(float))
    return found
