"""How well scores rank true claims above false ones, for many resamples at once.

Scenarios are resampled, so a resample is a weight for each scenario. Claims of one score form a
group; true and false weight of each group, summed over scenarios, is all that any metric needs.
The first row of weights is all ones: the value itself comes from the same code as its interval.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulrag.metrics.intervals import Floats, Ints

POOLED = ("f1", "precision", "recall", "aupr", "auroc", "true_share")
WITHIN = ("auroc_within", "aupr_within")
METRICS = (*POOLED, *WITHIN)

# Scores that differ by less are ties: centralities carry rounding noise of about 1e-16.
_DECIMALS = 9

# With more distinct scores than this, neighbouring ones are joined in the resamples alone: their
# spread around the exact value is kept, and memory and time no longer grow with claims squared.
_FINE = 400

# A distance of precision and recall that is larger by less is as close; F1 decides between such.
_CLOSE = 1e-9

# Resamples are taken in parts of about this many numbers, so that a part stays in the cache.
_PART = 32_000


@dataclass(frozen=True)
class RankedClaims:
    """Claims to rank, one entry a claim: score, truth, and the indices of scenario and question."""

    scores: Floats
    true: NDArray[np.bool_]
    scenario: Ints
    question: Ints


def measure(ranked: RankedClaims, weights: Floats) -> dict[str, Floats]:
    """Compute every metric of ``METRICS`` for every resample; NaN where it is undefined there.

    ``weights``: resamples x scenarios. AUROC counts ties half (midrank); AUPR is average
    precision; F1, precision and recall stand at the threshold where precision and recall are
    closest, found anew in each resample (of equally close ones the one with the best F1). The
    ``within`` metrics average each question's own over the questions where they are defined.
    """
    if len(ranked.scores) == 0:
        return {name: np.full(len(weights), np.nan) for name in METRICS}
    group = score_levels(ranked.scores)
    groups = int(group.max()) + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        if groups <= _FINE:
            pooled = _pooled(ranked, group, weights)
        else:
            whole = replace(ranked, scenario=np.zeros_like(ranked.scenario))
            exact = _pooled(whole, group, np.ones((1, 1)))
            coarse = _pooled(ranked, _coarse(group, groups), weights)
            pooled = {name: coarse[name] - coarse[name][0] + exact[name][0] for name in POOLED}
        return {**pooled, **_within(ranked, group, weights)}


def score_levels(scores: Floats) -> Ints:
    """Group the claims by score, best first; equal scores share a group."""
    levels: Ints = np.unique(-np.round(scores, _DECIMALS), return_inverse=True)[1]
    return levels


def _coarse(group: Ints, groups: int) -> Ints:
    """Neighbouring groups joined into at most twice ``_FINE`` of about equal size.

    A group that is larger than its share, such as all verified claims, stays by itself.
    """
    sizes = np.bincount(group, minlength=groups)
    share = math.ceil(len(group) / _FINE)
    # The middle of a group's ranks says which part it falls into; a large one fills a part alone.
    middle = np.cumsum(sizes) - sizes / 2
    part = (middle // share).astype(np.int64) * 2 + (sizes > share)
    joined: Ints = np.unique(np.maximum.accumulate(part), return_inverse=True)[1][group]
    return joined


def _pooled(ranked: RankedClaims, group: Ints, weights: Floats) -> dict[str, Floats]:
    """Compute the metrics over all claims: true and false weight a group, the best score first."""
    groups = int(group.max()) + 1
    resamples, scenarios = weights.shape
    metrics = {name: np.empty(resamples) for name in POOLED}
    rows = max(1, _PART // groups)
    shape = (scenarios, groups)
    cell = ranked.scenario * groups + group
    all_ = np.bincount(cell, minlength=scenarios * groups).reshape(shape).astype(float)
    hit = np.bincount(cell, weights=ranked.true, minlength=scenarios * groups).reshape(shape)
    hit_above, taken_above = np.cumsum(hit, axis=1), np.cumsum(all_, axis=1)
    # Pairs of a false claim in one scenario and a true one above it in another, ties half.
    pairs = (all_ - hit) @ (hit_above - hit / 2).T
    for start in range(0, resamples, rows):
        at = slice(start, start + rows)
        drawn = weights[at]
        wins = ((drawn @ pairs) * drawn).sum(axis=1)
        part = _Resamples(drawn @ hit, drawn @ hit_above, drawn @ taken_above, wins)
        _fill(metrics, at, part)
    return metrics


class _Resamples(NamedTuple):
    """Some resamples: the true weight of each group, what is hit and taken down to it, and wins.

    ``wins``: the weight of pairs of a true claim above a false one, ties half.
    """

    true: Floats
    hits: Floats
    taken: Floats
    wins: Floats


def _fill(metrics: dict[str, Floats], at: slice, part: _Resamples) -> None:
    """Compute the metrics of some resamples."""
    true, hits, taken, wins = part
    positives, every = hits[:, -1], taken[:, -1]
    # Where nothing is taken nothing is hit, and the precision is 0.
    precision = hits / np.maximum(taken, 1)
    best = _balanced(hits, taken, precision)
    rows = np.arange(len(hits))
    f1 = 2 * hits[rows, best] / (taken[rows, best] + positives)
    undefined = positives == 0
    values = {
        "f1": f1,
        "precision": precision[rows, best],
        "recall": hits[rows, best] / positives,
        "aupr": np.einsum("rg,rg->r", true, precision) / positives,
    }
    for name, value in values.items():
        metrics[name][at] = np.where(undefined, np.nan, value)
    metrics["auroc"][at] = wins / (positives * (every - positives))
    metrics["true_share"][at] = positives / every


def _balanced(hits: Floats, taken: Floats, precision: Floats) -> Ints:
    """Find where precision and recall are closest; of about equally close ones the best F1."""
    positives = hits[:, -1:]
    # Once as many are taken as are true, recall exceeds precision by ever more: look no further.
    enough = bisect_left(
        range(hits.shape[1] - 1), True, key=lambda j: bool((taken[:, j] >= positives[:, 0]).all())
    )
    hits, taken, precision = (part[:, : enough + 1] for part in (hits, taken, precision))
    distance = hits / positives
    np.subtract(precision, distance, out=distance)
    np.abs(distance, out=distance)
    # Where nothing true is taken both are 0: equal, and no balance.
    np.putmask(distance, hits == 0, np.inf)
    f1 = hits / (taken + positives)
    f1 *= 2 * _CLOSE
    distance -= f1
    best: Ints = np.argmin(distance, axis=1)
    return best


def _within(ranked: RankedClaims, group: Ints, weights: Floats) -> dict[str, Floats]:
    """Average each question's AUROC and AUPR with the weight of its scenario."""
    questions, row = np.unique(ranked.question, return_inverse=True)
    groups = int(group.max()) + 1
    cells, cell = np.unique(row * groups + group, return_inverse=True)
    owner = cells // groups
    true: Floats = np.bincount(cell, weights=ranked.true, minlength=len(cells)).astype(float)
    size = np.bincount(cell, minlength=len(cells)).astype(float)
    first = np.searchsorted(owner, np.arange(len(questions)))

    hits, taken = _running_within(true, first, owner), _running_within(size, first, owner)
    positives = np.bincount(owner, weights=true)
    negatives = np.bincount(owner, weights=size) - positives
    wins = np.bincount(owner, weights=(size - true) * (hits - true / 2))
    values = {
        "auroc_within": wins / (positives * negatives),
        "aupr_within": np.bincount(owner, weights=true * hits / taken) / positives,
    }
    scenario = np.zeros(len(questions), dtype=np.int64)
    scenario[row] = ranked.scenario
    # A question whose claims are all true ranks perfectly whatever the scores: it says nothing.
    return {name: _mean(value, weights, scenario, negatives > 0) for name, value in values.items()}


def _running_within(values: Floats, first: Ints, owner: Ints) -> Floats:
    """Sum ``values`` up, from anew where another owner's begin.

    ``owner``: ascending, one entry a value; ``first``: where each owner's values begin.
    """
    running = np.cumsum(values)
    within: Floats = running - (running - values)[first][owner]
    return within


def _mean(values: Floats, weights: Floats, scenario: Ints, mixed: NDArray[np.bool_]) -> Floats:
    """Average the questions' values, each with the weight of its scenario, a resample each."""
    defined = np.isfinite(values) & mixed
    where, count = scenario[defined], weights.shape[1]
    total = weights @ np.bincount(where, weights=values[defined], minlength=count)
    means: Floats = total / (weights @ np.bincount(where, minlength=count).astype(float))
    return means
