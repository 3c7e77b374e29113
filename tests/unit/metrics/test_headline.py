"""Two evaluations on different questions, from the records of a study of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from simulrag.metrics.headline import METRICS, Sample, compare, headline, resamples_for, sample
from tests.unit.metrics.measuring import FAST, data_of, measured_study
from tests.unit.metrics.synthetic import study

RESAMPLES = 4000


def drawn(truth: float, scenarios: int, seed: int) -> Sample:
    """A mean over scenarios with its bootstrap, spread 1 a scenario."""
    generator = np.random.default_rng(seed)
    values = truth + generator.standard_normal(scenarios)
    picks = generator.integers(scenarios, size=(RESAMPLES, scenarios))
    return Sample(scenarios, {"f1": np.concatenate([[values.mean()], values[picks].mean(axis=1)])})


def test_a_clear_fall_is_a_drop_and_a_rise_is_none() -> None:
    high, low = drawn(3.0, 40, 1), drawn(1.0, 40, 2)
    (fell,) = compare({"urban": high}, {"urban": low}, 0.05)
    (rose,) = compare({"urban": low}, {"urban": high}, 0.05)
    assert fell.drop
    assert not rose.drop
    assert fell.p_holm == rose.p_holm
    assert fell.difference == pytest.approx(-2.0, abs=0.6)


def test_the_interval_is_that_of_two_independent_samples() -> None:
    """The standard error of a difference of two means of n is sqrt(2 / n), not 0 as if paired."""
    n = 200
    (change,) = compare({"urban": drawn(0, n, 3)}, {"urban": drawn(0, n, 4)}, 0.05)
    assert change.lower_95 is not None
    assert change.upper_95 is not None
    width = change.upper_95 - change.lower_95
    assert width == pytest.approx(2 * 1.96 * np.sqrt(2 / n), rel=0.12)


def test_without_a_change_about_alpha_of_the_tests_speak() -> None:
    """400 pairs from one truth: half of 10 % of them fall, within three standard errors."""
    drops = sum(
        compare({"urban": drawn(0, 60, 2 * i)}, {"urban": drawn(0, 60, 2 * i + 1)}, 0.1)[0].drop
        for i in range(400)
    )
    assert 20 - 3 * np.sqrt(19) <= drops <= 20 + 3 * np.sqrt(19)


def test_holm_runs_over_all_domains_and_metrics() -> None:
    before = {name: drawn(0.0, 40, i) for i, name in enumerate(("a", "b", "c"))}
    after = {name: drawn(0.0, 40, 9 + i) for i, name in enumerate(("a", "b", "c"))}
    (alone,) = compare({"a": before["a"]}, {"a": after["a"]}, 0.05)
    together = {change.domain: change for change in compare(before, after, 0.05)}
    assert together["a"].p == alone.p
    assert together["a"].p_holm is not None
    assert alone.p_holm is not None
    assert together["a"].p_holm >= alone.p_holm


def test_one_scenario_says_nothing_and_a_new_domain_is_not_compared() -> None:
    one = drawn(5.0, 1, 1)
    (change,) = compare({"urban": one}, {"urban": drawn(0.0, 40, 2)}, 0.05)
    assert (change.p, change.drop) == (None, False)
    assert "one scenario" in change.reason
    assert compare({"urban": one}, {"climate": one}, 0.05) == []


def test_the_least_p_is_below_alpha_after_the_correction() -> None:
    for domains in (1, 3, 10):
        resamples = resamples_for(domains, 0.05, 100)
        assert 2 / (resamples + 1) * domains * len(METRICS) < 0.05 / 5
    assert resamples_for(1, 0.05, 50_000) == 50_000


def test_what_a_refresh_compares_is_what_its_table_says() -> None:
    """Where claims tie, the mean over the draws of both, and not one draw beside a mean."""
    given = study(12)
    data = data_of(given.answers, given.labels, given.finals, questions=given.questions)
    found = sample(data, resamples=2, stream="before").values
    told = headline(measured_study(given), FAST)
    assert {name: told[name] for name in METRICS} == {
        name: pytest.approx(found[name][0], abs=1e-6) for name in METRICS
    }
