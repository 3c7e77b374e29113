"""Ranking metrics: cases worked by hand, and scikit-learn as the second opinion."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from simulrag.metrics import ranking
from simulrag.metrics.ranking import METRICS, RankedClaims, measure


def ranked(scores: list[float], true: list[int], scenario: list[int] | None = None) -> RankedClaims:
    groups = np.array(scenario or [0] * len(scores), dtype=np.int64)
    return RankedClaims(np.array(scores), np.array(true, dtype=bool), groups, groups)


def once(data: RankedClaims) -> dict[str, float]:
    weights = np.ones((1, int(data.scenario.max(initial=0)) + 1))
    return {name: float(values[0]) for name, values in measure(data, weights).items()}


def test_by_hand() -> None:
    # From the top: true, true, false, true, false.
    found = once(ranked([0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 0, 1, 0]))
    assert found["auroc"] == pytest.approx(5 / 6)  # of 3 x 2 pairs only (0.6, 0.7) is wrong
    assert found["aupr"] == pytest.approx((1 + 1 + 3 / 4) / 3)
    # Three taken of three true: precision and recall are both 2/3.
    assert found["precision"] == found["recall"] == found["f1"] == pytest.approx(2 / 3)
    assert found["true_share"] == pytest.approx(3 / 5)


def test_rounding_noise_is_a_tie() -> None:
    found = once(ranked([0.3, 0.1 + 0.2], [1, 0]))
    assert found["auroc"] == pytest.approx(0.5)


def test_equals_scikit_learn_under_any_weights() -> None:
    """Ties count half."""
    scenarios = 25
    rng = np.random.default_rng(3)
    size = 300
    scores = np.round(rng.normal(size=size), 1)  # many ties
    true = rng.random(size) < 1 / (1 + np.exp(-scores))
    scenario = rng.integers(scenarios, size=size)
    weights = rng.multinomial(scenarios, np.full(scenarios, 1 / scenarios), size=20).astype(float)
    found = measure(RankedClaims(scores, true, scenario, scenario), weights)
    for row, weight in enumerate(weights):
        each = weight[scenario]
        assert found["auroc"][row] == pytest.approx(
            roc_auc_score(true, scores, sample_weight=each), abs=1e-12
        )
        assert found["aupr"][row] == pytest.approx(
            average_precision_score(true, scores, sample_weight=each), abs=1e-12
        )
        taken = [scores >= level for level in np.unique(scores)]
        pairs = [
            (each[mask & true].sum() / each[mask].sum(), each[mask & true].sum() / each[true].sum())
            for mask in taken
            if each[mask].sum() > 0
        ]
        closest = min(abs(precision - recall) for precision, recall in pairs)
        gap = abs(found["precision"][row] - found["recall"][row])
        assert gap == pytest.approx(closest, abs=1e-9)


def test_within_questions_equals_the_mean_over_questions() -> None:
    rng = np.random.default_rng(4)
    sizes = [1, 4, 9, 6, 3]
    question = np.repeat(np.arange(5), sizes)
    scores = np.round(rng.random(len(question)), 1)
    true = rng.random(len(question)) < 0.5
    true[question == 2] = True  # one class: says nothing
    true[[1, 5 + 9]] = [True, False]
    order = rng.permutation(len(question))
    data = RankedClaims(scores[order], true[order], question[order], question[order])
    mixed = [q for q in range(5) if 0 < true[question == q].sum() < (question == q).sum()]
    assert len(mixed) >= 2
    each = [roc_auc_score(true[question == q], scores[question == q]) for q in mixed]
    precisions = [
        average_precision_score(true[question == q], scores[question == q]) for q in mixed
    ]
    found = once(data)
    assert found["auroc_within"] == pytest.approx(np.mean(each))
    assert found["aupr_within"] == pytest.approx(np.mean(precisions))


def test_a_resample_that_draws_a_scenario_twice_equals_its_claims_twice() -> None:
    base = ranked([0.9, 0.4, 0.6, 0.2, 0.7], [1, 0, 0, 1, 1], [0, 0, 1, 1, 2])
    twice = ranked([0.9, 0.4, 0.9, 0.4, 0.7], [1, 0, 1, 0, 1], [0, 0, 1, 1, 2])
    drawn = measure(base, np.array([[2.0, 0.0, 1.0]]))
    for name, value in once(twice).items():
        assert drawn[name][0] == pytest.approx(value), name


def test_many_scores_are_measured_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    scenario = rng.integers(30, size=700)
    data = RankedClaims(rng.random(700), rng.random(700) < 0.4, scenario, scenario)
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=40).astype(float)
    weights[0] = 1
    monkeypatch.setattr(ranking, "_FINE", 1000)
    exact = measure(data, weights)
    monkeypatch.setattr(ranking, "_FINE", 400)
    coarse = measure(data, weights)
    for name, values in exact.items():
        # Neighbouring scores are joined in the resamples only.
        assert coarse[name][0] == pytest.approx(values[0]), name
        assert coarse[name] == pytest.approx(values, abs=0.02), name


@pytest.mark.parametrize("value", [0, 1])
def test_one_class_is_undefined_where_it_must_be(value: int) -> None:
    found = once(ranked([0.1, 0.2, 0.3], [value] * 3))
    assert np.isnan(found["auroc"])
    assert np.isnan(found["auroc_within"])
    assert np.isnan(found["aupr"]) == (value == 0)
    assert np.isnan(found["f1"]) == (value == 0)
    assert found["true_share"] == value


def test_no_claims() -> None:
    found = measure(ranked([], []), np.ones((3, 1)))
    assert set(found) == set(METRICS)
    assert all(np.isnan(values).all() and len(values) == 3 for values in found.values())
