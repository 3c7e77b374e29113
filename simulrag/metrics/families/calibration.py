"""Whether confidence means what it says: are 80 % of the claims of confidence 0.8 true?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulrag.method.numbers import numbers
from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import Estimate, Floats, estimate
from simulrag.metrics.methods import ALL_RAG, NO_RAG, UE_SBA, VERBALIZED
from simulrag.metrics.ranking import RankedClaims
from simulrag.metrics.ranking import measure as rank
from simulrag.metrics.selections import (
    NO_VERBALIZED,
    BudgetedMethod,
    place_of,
    plans_of,
    ranked_claims,
    stated_scores,
)
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement, filled

BINS = 10
KINDS = ("all", "number", "other")
"""Of claims: whether they state a number. Numbers are mostly false before verification and classes
mostly true, so that telling one from the other already ranks."""
_ONE_LABEL = "undefined: all claims of this kind are true, or all false"
_NO_SHARE = "undefined: these scores are not shares between 0 and 1"


@metric("calibration")
def calibration(data: DomainData) -> Iterator[Measurement]:
    """Measure the reliability curve and its expected error, before and after verification.

    Before: of the centrality and of the model's own statement; after: UE+SBA at each budget, and
    all verified. Each with undecided claims left out and counted false. Verified and decided
    claims have confidence 1; the labels are those of the text at that point.

    ``reliability``: one row a bin that holds claims (ten of equal width, open below and closed
    above, as scikit-learn's ``calibration_curve`` has them): ``x`` is the mean confidence in the
    bin and ``value`` the share of true claims. ``ece``: the mean over claims of the distance
    between the two (Guo et al. 2017, "On Calibration of Modern Neural Networks"); with few claims
    chance by itself keeps it above 0. Centralities are no probabilities, and closeness has a
    ceiling near 0.5, so before verification this shows how far they are from being read as such.
    """
    leading = data.settings.centrality
    plan = {(line.method, line.budget_percent): line for line in plans_of(data)[leading]}
    if not plan:
        return
    before = plan[NO_RAG, 0]
    stated = _stated(data, before)
    budgeted = [plan[UE_SBA, budget] for budget in data.settings.budgets_percent]
    for setting in (before, stated, *budgeted, plan[ALL_RAG, 100]):
        for undecided in TREATMENTS:
            centrality = "verbalized" if setting is stated else leading
            place = place_of(data, setting, "calibration", centrality, undecided)
            yield from _rows(data, ranked_claims(data, setting, undecided), place, setting.reason)


def _rows(
    data: DomainData, claims: RankedClaims, place: Measurement, reason: str
) -> Iterator[Measurement]:
    if not reason and not len(claims.scores):
        reason = "undefined: no labelled claim"
    if not reason and (claims.scores.min() < 0 or claims.scores.max() > 1):
        reason = _NO_SHARE
    if reason:
        yield filled(place, Estimate(None, reason=reason), metric="ece", n=0)
        return
    bins = np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], claims.scores)

    def by_bin(values: Floats) -> Floats:
        """Sum values over claims, a resample and a bin."""
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


@metric("foresight")
def foresight(data: DomainData) -> Iterator[Measurement]:
    """Measure the AUROC of confidence before anything is verified, by kind of claim.

    ``level``: of all claims, of those that state a number, of the others. ``auroc`` of the leading
    centrality and of the model's own statement; ``auroc_gain``: the second less the first, over the
    same claims and resamples. Undecided claims are left out. No row where none was stated.
    """
    leading = data.settings.centrality
    before = next((line for line in plans_of(data)[leading] if line.method == NO_RAG), None)
    if before is None or not data.pool.verbalized_asked:
        return
    states = np.array([bool(numbers(text)) for text in data.claims["text_before"]], dtype=bool)
    for kind, among in zip(KINDS, (None, states, ~states), strict=True):
        agreement, stated = (
            ranked_claims(data, setting, "excluded", among=among)
            for setting in (before, _stated(data, before))
        )
        by_agreement, by_statement = (
            rank(ranked, data.weights)["auroc"] for ranked in (agreement, stated)
        )
        for metric_name, centrality, values in (
            ("auroc", leading, by_agreement),
            ("auroc", "verbalized", by_statement),
            ("auroc_gain", "verbalized", by_statement - by_agreement),
        ):
            place = Measurement(
                family="foresight",
                domain=data.domain,
                metric=metric_name,
                centrality=centrality,
                level=kind,
                n=len(agreement.scores),
                undecided="excluded",
            )
            yield filled(place, estimate(values, data.scenarios, _ONE_LABEL))


def _stated(data: DomainData, before: BudgetedMethod) -> BudgetedMethod:
    """Return the line before verification that ranks claims by the model's own statement."""
    unasked = "" if data.pool.verbalized_asked else NO_VERBALIZED
    return BudgetedMethod(VERBALIZED, 0, before.chosen, stated_scores(data.pool), unasked)
