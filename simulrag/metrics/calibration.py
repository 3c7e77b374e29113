"""Does a confidence of 0.8 mean that 80 % of such claims are true?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from simulrag.metrics.checked import Checked
from simulrag.metrics.intervals import Floats, estimate, scenario_weights
from simulrag.metrics.pool import ClaimPool
from simulrag.metrics.ranking import Ranked
from simulrag.metrics.settings import MetricSettings

Row = dict[str, object]

BINS = 10
_NO_SHARE = "undefined: these scores are no shares between 0 and 1"


def calibration(
    pool: ClaimPool, sets: Sequence[Checked], settings: MetricSettings
) -> Iterator[Row]:
    """The reliability curve and its expected calibration error, before and after verification.

    ``reliability``: one row a bin that holds claims (ten of equal width, open below and closed
    above, as scikit-learn's ``calibration_curve`` has them): ``confidence`` is the mean in the bin
    and ``value`` the share of true claims. ``ece``: the mean over claims of the distance between
    the two (Guo et al. 2017, "On Calibration of Modern Neural Networks"); with few claims chance
    alone keeps it above 0. Centralities are no probabilities, and closeness has a ceiling near 0.5,
    so before verification this shows how far they are from being read as such.
    """
    weights = scenario_weights(pool.scenarios, settings.bootstrap, settings.seed, pool.domain)
    for checked in sets:
        place = {"domain": pool.domain, **checked.place, "coverage": pool.coverage}
        for row in _rows(checked, weights, pool.scenarios):
            yield {**place, **row}


def _rows(checked: Checked, weights: Floats, scenarios: int) -> Iterator[Row]:
    claims = checked.claims
    reason = checked.reason
    if not reason and (claims.scores.min() < 0 or claims.scores.max() > 1):
        reason = _NO_SHARE
    if reason:
        nothing = np.full(len(weights), np.nan)
        yield _row("ece", nothing, scenarios, 0, reason)
        return
    bins = np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], claims.scores)
    true, total, score = (
        weights @ _by_bin(claims, bins, values, scenarios)
        for values in (claims.true.astype(float), np.ones(len(bins)), claims.scores)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(true - score).sum(axis=1) / total.sum(axis=1)
        share = true / total
    yield _row("ece", error, scenarios, len(bins), "")
    for place in np.unique(bins):
        inside = bins == place
        confidence = float(claims.scores[inside].mean())
        count = int(inside.sum())
        row = _row("reliability", share[:, place], scenarios, count, "")
        yield {**row, "bin": int(place) + 1, "confidence": confidence}


def _by_bin(claims: Ranked, bins: np.ndarray, values: Floats, scenarios: int) -> Floats:
    """Sums over claims: scenarios x bins."""
    table = np.zeros((scenarios, BINS))
    np.add.at(table, (claims.scenario, bins), values)
    return table


def _row(metric: str, values: Floats, scenarios: int, count: int, reason: str) -> Row:
    result = estimate(values, scenarios, reason)
    return {
        "metric": metric,
        "bin": None,
        "confidence": None,
        "value": result.value,
        "lower_95": result.lower_95,
        "upper_95": result.upper_95,
        "n": count,
        "reason": result.reason,
    }
