"""The scenario bootstrap covers at its stated rate; Holm by hand."""

from __future__ import annotations

import numpy as np
import pytest

from simulrag.metrics.intervals import (
    Estimate,
    estimate,
    estimates,
    holm,
    scenario_weights,
    two_sided_p,
)


def test_weights() -> None:
    weights = scenario_weights(7, 50, seed=1, stream="urban")
    assert weights.shape == (51, 7)
    assert (weights[0] == 1).all()
    assert (weights.sum(axis=1) == 7).all()
    assert (weights == scenario_weights(7, 50, seed=1, stream="urban")).all()
    assert (weights != scenario_weights(7, 50, seed=1, stream="climate")).any()
    assert (weights != scenario_weights(7, 50, seed=2, stream="urban")).any()


def test_interval_covers_at_about_the_stated_rate() -> None:
    # Claims of one scenario share its luck; the truth is the mean of the scenarios' chances.
    rng = np.random.default_rng(11)
    covered = 0
    trials, scenarios, claims = 300, 40, 10
    for trial in range(trials):
        chance = rng.beta(2, 2, size=scenarios)
        hits = rng.binomial(claims, chance)
        weights = scenario_weights(scenarios, 300, seed=trial, stream="x")
        found = estimate(weights @ hits / (claims * scenarios), scenarios, "")
        assert found.lower_95 is not None
        assert found.upper_95 is not None
        covered += found.lower_95 <= 0.5 <= found.upper_95
    # A percentile interval of 40 scenarios covers a little less than 95 %.
    assert 0.90 <= covered / trials <= 0.98


def test_one_scenario_has_no_interval() -> None:
    found = estimate(np.array([0.7, 0.7, 0.7]), 1, "")
    assert found == Estimate(0.7, reason="no interval: one scenario only")


def test_undefined_is_not_a_number_and_says_why() -> None:
    found = estimate(np.array([np.nan, 0.5, 0.5]), 5, "all claims have one label")
    assert found == Estimate(None, reason="all claims have one label")


def test_mostly_undefined_resamples_give_no_interval() -> None:
    found = estimate(np.array([0.7, np.nan, np.nan, 0.6]), 5, "")
    assert found == Estimate(0.7, reason="no interval: undefined in most resamples")


def test_p_values() -> None:
    assert two_sided_p(np.array([1.0] + [0.5] * 99)) == pytest.approx(2 / 100)
    assert two_sided_p(np.array([1.0] + [0.5] * 999), pairs=3) == 0.25, "all three agree"
    assert two_sided_p(np.array([1.0] + [0.5] * 999), pairs=15) == pytest.approx(2 / 1000)
    assert two_sided_p(np.array([0.0] + [-1.0, 1.0] * 50)) == 1.0
    assert two_sided_p(np.array([np.nan, 1.0])) is None


def test_holm_is_that_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(2).random(25) ** 3
    assert holm(list(p)) == pytest.approx(multipletests(p, method="holm")[1])


def test_many_estimates_are_those_of_each() -> None:
    rows = np.random.default_rng(3).random((4, 60))
    rows[1, 5] = rows[2, 0] = rows[3, 20:] = np.nan
    together = estimates(list(rows), 9, ["a", "b", "c", "d"])
    assert together == [estimate(row, 9, why) for row, why in zip(rows, "abcd", strict=True)]
    lower, upper = np.nanquantile(rows[1, 1:], [0.025, 0.975])
    assert (together[1].lower_95, together[1].upper_95) == (lower, upper)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None]) == [None]
