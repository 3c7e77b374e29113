"""Whether confidence means what it says, and conformal kappa.

Calibration: does a confidence of 0.8 mean that 80 % of such claims are true? Conformal kappa: a
threshold on confidence that keeps false claims rare, with a guarantee.

Conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster 2022, arXiv:2208.02814). The
unit is a scenario: its questions share a simulator run, so they are not exchangeable one by one.

The loss of a question at a threshold is the largest share of false claims among those it keeps at
that threshold *or any higher one* (0 where it keeps none). The share itself can fall when the
threshold does, and the theorem needs a loss that cannot; this one is never below the share, so
what holds for it holds for the share. A scenario's loss is the mean of its questions'.

**What is guaranteed.** Calibrated on n scenarios, kappa is the lowest threshold at which
(sum of losses + 1) / (n + 1) <= alpha. Then for one more scenario the expected share of false
claims among a question's kept ones is at most alpha: the expected precision is at least 1 - alpha,
a question that keeps none counting as precise. That convention makes it easy to be precise by
keeping little, so the pooled precision and the shares of claims and questions that are kept are
measured beside it. With n below 1 / alpha - 1 scenarios nothing can ever be kept.

**What is assumed.** The scenarios that kappa was calibrated on and the new one are exchangeable:
drawn in one way, answered by the same models with the same parameters, and labelled by the same
judge. True means what that judge, or the people, call true. The claim counts at random draws of
*both*: it is an average over calibrations too, no promise for every calibration, none for a single
question, and none for all claims pooled (long answers weigh no more than short ones). A budget that
is pooled over the domain selects by the other questions too; that is symmetric in them and keeps
exchangeability within one run, while a new question that is verified under a budget of its own is
exactly covered only with ``metrics.per_question``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import Estimate, Floats, Ints, estimate, ratio
from simulrag.metrics.methods import ALL_RAG, NO_RAG, UE_SBA, VERBALIZED
from simulrag.metrics.ranking import RankedClaims, running_within
from simulrag.metrics.selections import (
    NO_VERBALIZED,
    BudgetedMethod,
    plans_of,
    ranked_claims,
    stated_scores,
)
from simulrag.metrics.settings import TREATMENTS, MetricSettings, Undecided
from simulrag.metrics.table import Measurement, filled

BINS = 10
_NO_SHARE = "undefined: these scores are not shares between 0 and 1"


@dataclass(frozen=True)
class Checked:
    """Claims with the confidence they have when ``setting``'s selection was verified.

    ``confidence``: the centrality, or "verbalized". ``reason``: why nothing can be measured.
    """

    setting: BudgetedMethod
    confidence: str
    undecided: Undecided
    claims: RankedClaims
    reason: str = ""

    def row(self, family: str, data: DomainData) -> Measurement:
        """Begin a row of a family in the long table, still without a value."""
        return Measurement(
            family=family,
            domain=data.domain,
            method=self.setting.method,
            budget_percent=self.setting.budget_percent,
            centrality=self.confidence,
            coverage=data.coverage,
            undecided=self.undecided,
        )


@lru_cache(maxsize=1)
def checked_sets(data: DomainData) -> tuple[Checked, ...]:
    """Centrality and the model's own statement before, UE+SBA after each budget, and all verified.

    Each with undecided claims left out and counted false. Verified and decided claims have
    confidence 1; the labels are those of the text at that point.
    """
    leading = data.settings.centrality
    plan = {(one.method, one.budget_percent): one for one in plans_of(data)[leading]}
    if not plan:
        return ()
    before = plan[NO_RAG, 0]
    stated = BudgetedMethod(
        VERBALIZED,
        0,
        before.chosen,
        stated_scores(data.pool),
        "" if data.pool.verbalized_asked else NO_VERBALIZED,
    )
    budgeted = [plan[UE_SBA, budget] for budget in data.settings.budgets_percent]
    found: list[Checked] = []
    for setting in (before, stated, *budgeted, plan[ALL_RAG, 100]):
        confidence = "verbalized" if setting is stated else leading
        for undecided in TREATMENTS:
            claims = ranked_claims(data, setting, undecided)
            empty = "" if len(claims.scores) else "undefined: no labelled claim"
            found.append(Checked(setting, confidence, undecided, claims, setting.reason or empty))
    return tuple(found)


@metric("calibration")
def calibration(data: DomainData) -> Iterator[Measurement]:
    """Measure the reliability curve and its expected error, before and after verification.

    ``reliability``: one row a bin that holds claims (ten of equal width, open below and closed
    above, as scikit-learn's ``calibration_curve`` has them): ``x`` is the mean confidence in the
    bin and ``value`` the share of true claims. ``ece``: the mean over claims of the distance
    between the two (Guo et al. 2017, "On Calibration of Modern Neural Networks"); with few claims
    chance by itself keeps it above 0. Centralities are no probabilities, and closeness has a
    ceiling near 0.5, so before verification this shows how far they are from being read as such.
    """
    for checked in checked_sets(data):
        yield from _rows(data, checked, checked.row("calibration", data))


def _rows(data: DomainData, checked: Checked, place: Measurement) -> Iterator[Measurement]:
    claims, reason = checked.claims, checked.reason
    if not reason and (claims.scores.min() < 0 or claims.scores.max() > 1):
        reason = _NO_SHARE
    if reason:
        yield filled(place, Estimate(None, reason=reason), metric="ece", n=0)
        return
    bins = np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], claims.scores)

    def by_bin(values: Floats) -> Floats:
        """Sums over claims, a resample and a bin."""
        table = np.zeros((data.scenarios, BINS))
        np.add.at(table, (claims.scenario, bins), values)
        drawn: Floats = data.weights @ table
        return drawn

    true, total = by_bin(claims.true.astype(float)), by_bin(np.ones(len(bins)))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(true - by_bin(claims.scores)).sum(axis=1) / total.sum(axis=1)
        share = true / total
    yield filled(place, estimate(error, data.scenarios, ""), metric="ece", n=len(bins))
    for number in np.unique(bins).tolist():
        inside = bins == number
        yield filled(
            place,
            estimate(share[:, number], data.scenarios, ""),
            metric="reliability",
            n=int(inside.sum()),
            more={"bin": number + 1, "x": float(claims.scores[inside].mean())},
        )


METRICS = (
    "kappa",
    "held_out_precision",
    "held_out_precision_pooled",
    "held_out_kept",
    "held_out_questions",
)
NONE = "no threshold keeps false claims that rare: keep nothing"
_FOLDS = 5
# Scores that differ by less are ties, as for ranking.
_DECIMALS = 9
# Losses are summed up in parts; what rounding adds must not move kappa.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Losses:
    """Where the losses of a calibration set rise: by how much in all, at which threshold.

    ``thresholds`` fall from the highest score; ``unit`` is the index of the rise's scenario, and
    ``rise`` what it adds to that scenario's loss (the mean of its questions').
    """

    thresholds: Floats
    level: Ints
    unit: Ints
    rise: Floats

    def kappa(self, units: NDArray[np.int64], alpha: float) -> float | None:
        """Find the lowest threshold that these scenarios allow; None: keep nothing."""
        inside = np.isin(self.unit, units)
        summed = np.cumsum(
            np.bincount(
                self.level[inside], weights=self.rise[inside], minlength=len(self.thresholds)
            )
        )
        allowed = int(((summed + 1) / (len(units) + 1) <= alpha + _ROUNDING).sum())
        return float(self.thresholds[allowed - 1]) if allowed else None


def losses_of(claims: RankedClaims) -> Losses:
    """Find the losses of every question at every threshold that makes a difference."""
    scores = np.round(claims.scores, _DECIMALS)
    levels, level = np.unique(-scores, return_inverse=True)
    questions, first, row = np.unique(claims.question, return_index=True, return_inverse=True)
    scenario = claims.scenario[first]
    cells, cell = np.unique(row * len(levels) + level, return_inverse=True)
    owner = cells // len(levels)
    start = np.searchsorted(owner, np.arange(len(questions)))
    kept = np.bincount(cell, minlength=len(cells)).astype(float)
    false: Floats = np.bincount(cell, weights=~claims.true, minlength=len(cells)).astype(float)

    share = running_within(false, start, owner) / running_within(kept, start, owner)
    # The largest share so far within each question: questions are lifted above one another.
    worst = np.maximum.accumulate(share + 2.0 * owner) - 2.0 * owner
    before = np.concatenate([[0.0], worst[:-1]])
    before[start] = 0.0
    size = np.bincount(scenario)
    unit = scenario[owner]
    return Losses(-levels, cells % len(levels), unit, (worst - before) / size[unit])


@metric("conformal")
def conformal(data: DomainData) -> Iterator[Measurement]:
    """Calibrate kappa on a domain's checked claim sets, and measure it on held-out scenarios.

    ``kappa`` is calibrated on all scenarios. The rest is by cross-fitting: each of five parts of
    the scenarios is held out, kappa calibrated on the others and applied to it.
    ``held_out_precision``: the guaranteed quantity, the mean over scenarios and their questions of
    the share of true claims among the kept, 1 where none is. ``held_out_precision_pooled``: true
    kept claims by kept claims. ``held_out_kept``: kept claims by all. ``held_out_questions``: the
    share of questions that keep any.
    """
    for checked in checked_sets(data):
        place, alpha = checked.row("conformal", data), data.settings.alpha
        for name, result, n in _measure(data, checked):
            yield filled(place, result, metric=name, n=n, more={"alpha": alpha})


def _measure(data: DomainData, checked: Checked) -> Iterator[tuple[str, Estimate, int]]:
    if checked.reason:
        for name in METRICS:
            yield name, Estimate(None, reason=checked.reason), 0
        return
    claims = checked.claims
    losses, units = losses_of(claims), np.unique(claims.scenario)
    kappa = losses.kappa(units, data.settings.alpha)
    yield "kappa", Estimate(kappa, reason=NONE if kappa is None else ""), len(units)
    if len(units) < 2:
        for name in METRICS[1:]:
            yield name, Estimate(None, reason="undefined: one scenario only"), len(units)
        return
    questions, row = np.unique(claims.question, return_inverse=True)
    inside = _held_out(claims, losses, units, data.settings)
    size = np.bincount(row).astype(float)
    kept: Floats = np.bincount(row, weights=inside).astype(float)
    false: Floats = np.bincount(row, weights=inside & ~claims.true).astype(float)
    unit = np.zeros(len(questions), dtype=np.int64)
    unit[row] = claims.scenario
    share = 1 / np.bincount(unit)[unit]
    # Where nothing at all is kept, 1 by convention would be taken for a success.
    precise = 1 - false / np.maximum(kept, 1) if kept.any() else np.full(len(kept), np.nan)
    measured: dict[str, tuple[Floats, Floats]] = {
        "held_out_precision": (share * precise, share),
        "held_out_precision_pooled": (kept - false, kept),
        "held_out_kept": (kept, size),
        "held_out_questions": ((kept > 0).astype(float), np.ones(len(kept))),
    }
    for name, (top, bottom) in measured.items():
        values = ratio(top, bottom, unit, data.weights)
        yield name, estimate(values, data.scenarios, "undefined: nothing is kept"), len(units)


def _held_out(
    claims: RankedClaims, losses: Losses, units: Ints, settings: MetricSettings
) -> NDArray[np.bool_]:
    """Whether each claim is kept at the kappa that its scenario had no part in."""
    order = np.random.default_rng(settings.seed).permutation(len(units))
    fold = np.empty(len(units), dtype=np.int64)
    fold[order] = np.arange(len(units)) % min(_FOLDS, len(units))
    of_claim = fold[np.searchsorted(units, claims.scenario)]
    scores = np.round(claims.scores, _DECIMALS)
    kept = np.zeros(len(scores), dtype=bool)
    for part in np.unique(fold):
        kappa = losses.kappa(units[fold != part], settings.alpha)
        if kappa is not None:
            kept |= (of_claim == part) & (scores >= kappa)
    return kept
