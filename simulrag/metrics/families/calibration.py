"""Does a confidence of 0.8 mean that 80 % of such claims are true?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulrag.metrics.domain import DomainData
from simulrag.metrics.intervals import Estimate, Floats, estimate
from simulrag.metrics.registry import metric
from simulrag.metrics.selections import Checked, checked_sets
from simulrag.metrics.table import Measurement, filled

BINS = 10
_NO_SHARE = "undefined: these scores are not shares between 0 and 1"


@metric("calibration")
def calibration(data: DomainData) -> Iterator[Measurement]:
    """The reliability curve and its expected calibration error, before and after verification.

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
            bin=number + 1,
            x=float(claims.scores[inside].mean()),
        )
