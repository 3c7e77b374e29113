"""Conformal kappa: a threshold on confidence that keeps false claims rare, with a guarantee.

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
exactly covered with ``metrics.per_question`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulrag.metrics.checked import Checked
from simulrag.metrics.intervals import Estimate, Floats, estimate, ratio, scenario_weights
from simulrag.metrics.pool import ClaimPool
from simulrag.metrics.ranking import Ranked
from simulrag.metrics.settings import MetricSettings

Row = dict[str, object]

METRICS = (
    *("kappa", "held_out_precision", "held_out_precision_pooled"),
    *("held_out_kept", "held_out_questions"),
)
NONE = "no threshold keeps false claims that rare: keep nothing"
_FOLDS = 5
# Scores that differ by less are ties, as for ranking.
_DECIMALS = 9


@dataclass(frozen=True)
class KeptShares:
    """What each question keeps at each threshold (rows: questions; columns: highest first).

    ``unit``: the scenario's index of each question; ``false`` and ``kept`` are counts.
    """

    thresholds: Floats
    false: Floats
    kept: Floats
    unit: NDArray[np.int64]

    @property
    def false_share(self) -> Floats:
        """False claims by kept ones, 0 where none is kept."""
        return self.false / np.maximum(self.kept, 1)

    def unit_loss(self) -> tuple[NDArray[np.int64], Floats]:
        """Scenarios, and for each the mean of its questions' losses at each threshold."""
        worst = np.maximum.accumulate(self.false_share, axis=1)
        units, place, size = np.unique(self.unit, return_inverse=True, return_counts=True)
        total = np.zeros((len(units), len(self.thresholds)))
        np.add.at(total, place, worst)
        return units, total / size[:, None]


def kept_shares(claims: Ranked) -> KeptShares:
    """Counts at every threshold that makes a difference."""
    levels, column = np.unique(-np.round(claims.scores, _DECIMALS), return_inverse=True)
    questions, row = np.unique(claims.question, return_inverse=True)
    kept = np.zeros((len(questions), len(levels)))
    false = np.zeros_like(kept)
    np.add.at(kept, (row, column), 1.0)
    np.add.at(false, (row, column), (~claims.true).astype(float))
    unit = np.zeros(len(questions), dtype=np.int64)
    unit[row] = claims.scenario
    return KeptShares(-levels, np.cumsum(false, axis=1), np.cumsum(kept, axis=1), unit)


def conformal_kappa(losses: Floats, thresholds: Floats, alpha: float) -> float | None:
    """The lowest threshold that the calibration allows; None where only keeping nothing does.

    ``losses``: scenarios x thresholds, within 0 and 1 and never falling along a row, for
    ``thresholds`` from the highest down (``KeptShares.unit_loss``). See the module for what it
    guarantees.
    """
    bound = (losses.sum(axis=0) + 1) / (len(losses) + 1)
    allowed = int((bound <= alpha).sum())
    return float(thresholds[allowed - 1]) if allowed else None


def conformal(pool: ClaimPool, sets: Sequence[Checked], settings: MetricSettings) -> Iterator[Row]:
    """Conformal kappa of a domain's checked claim sets, and what it does on held-out scenarios.

    ``kappa`` is calibrated on all scenarios. The rest is by cross-fitting: each of five parts of
    the scenarios is held out, kappa calibrated on the others and applied to it.
    ``held_out_precision``: the guaranteed quantity, the mean over scenarios and their questions of
    the share of true claims among the kept, 1 where none is. ``held_out_precision_pooled``: true
    kept claims by kept claims. ``held_out_kept``: kept claims by all. ``held_out_questions``: the
    share of questions that keep any.
    """
    weights = scenario_weights(pool.scenarios, settings.bootstrap, settings.seed, pool.domain)
    for checked in sets:
        for metric, result, n in _measure(checked, weights, pool.scenarios, settings):
            yield {
                "domain": pool.domain,
                **checked.place,
                "alpha": settings.alpha,
                "metric": metric,
                "value": result.value,
                "lower_95": result.lower_95,
                "upper_95": result.upper_95,
                "n": n,
                "coverage": pool.coverage,
                "reason": result.reason,
            }


def _measure(
    checked: Checked, weights: Floats, scenarios: int, settings: MetricSettings
) -> Iterator[tuple[str, Estimate, int]]:
    if checked.reason:
        for metric in METRICS:
            yield metric, Estimate(None, reason=checked.reason), 0
        return
    shares = kept_shares(checked.claims)
    units, losses = shares.unit_loss()
    kappa = conformal_kappa(losses, shares.thresholds, settings.alpha)
    yield "kappa", Estimate(kappa, reason=NONE if kappa is None else ""), len(units)
    if len(units) < 2:
        for metric in METRICS[1:]:
            yield metric, Estimate(None, reason="undefined: one scenario only"), len(units)
        return
    false, kept = _held_out(shares, units, losses, settings)
    _, place, size = np.unique(shares.unit, return_inverse=True, return_counts=True)
    share = 1 / size[place]
    precise = 1 - false / np.maximum(kept, 1)
    if not kept.any():
        # 1 by convention, and it would be taken for a success.
        precise = np.full(len(kept), np.nan)
    measured = {
        "held_out_precision": (share * precise, share),
        "held_out_precision_pooled": (kept - false, kept),
        "held_out_kept": (kept, shares.kept[:, -1]),
        "held_out_questions": ((kept > 0).astype(float), np.ones(len(kept))),
    }
    for metric, (top, bottom) in measured.items():
        values = ratio(top, bottom, shares.unit, weights)
        yield metric, estimate(values, scenarios, "undefined: nothing is kept"), len(units)


def _held_out(
    shares: KeptShares, units: NDArray[np.int64], losses: Floats, settings: MetricSettings
) -> tuple[Floats, Floats]:
    """False and kept claims of each question at the kappa that its scenario had no part in."""
    order = np.random.default_rng(settings.seed).permutation(len(units))
    fold = np.empty(len(units), dtype=np.int64)
    fold[order] = np.arange(len(units)) % min(_FOLDS, len(units))
    row = np.searchsorted(units, shares.unit)
    false = np.zeros(len(shares.unit))
    kept = np.zeros(len(shares.unit))
    for part in np.unique(fold):
        kappa = conformal_kappa(losses[fold != part], shares.thresholds, settings.alpha)
        if kappa is not None:
            column = int((shares.thresholds >= kappa).sum()) - 1
            inside = fold[row] == part
            false[inside] = shares.false[inside, column]
            kept[inside] = shares.kept[inside, column]
    return false, kept
