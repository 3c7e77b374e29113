"""A synthetic study with known parameters: metrics against closed forms and scikit-learn.

A claim is true with a chance that its scenario draws (mean ``TRUE``). Its score is normal, centred
``SHIFT`` higher where it is true, so the AUROC before verification is Phi(SHIFT / sqrt 2) whatever
the share of true claims. Verification decides a claim with chance ``DECIDED`` whether it is true or
not, and every decided claim is true afterwards, with confidence 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families.claims import claims as claim_level
from simulrag.metrics.pool import TRUE as LABELLED_TRUE
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import frame_of
from simulrag.records import Answer, Claim, Label
from tests.making import answer, claim, label
from tests.unit.metrics.measuring import data_of, row

TRUE, SHIFT, DECIDED, INSIDE = 0.4, 1.0, 0.7, 0.6
BUDGET = 25
BEFORE = float(norm.cdf(SHIFT / math.sqrt(2)))


def after(share: float) -> tuple[float, float]:
    """AUROC and share of true claims once ``share`` of all claims were verified at random."""
    decided = share * DECIDED
    true = decided + TRUE * (1 - decided)
    return (decided + TRUE * (1 - decided) * BEFORE) / true, true


def drawn(
    seed: int, scenarios: int, claims: int = 5, questions: int = 2, **changed: Any
) -> DomainData:
    """A domain of ``scenarios`` with two questions each."""
    rng = np.random.default_rng(seed)
    answers: list[Answer] = []
    labels: list[Label] = []
    scenario_of: dict[str, str] = {}
    for scenario in range(scenarios):
        chance = rng.beta(4 * TRUE, 4 * (1 - TRUE))
        for question in range(questions):
            name = f"q{scenario}-{question}"
            scenario_of[name] = f"s{scenario}"
            made: list[Claim] = []
            for index in range(claims):
                true = bool(rng.random() < chance)
                score = float(norm.cdf(rng.normal(SHIFT if true else 0.0, 1.0)))
                text, mended = f"Claim {index}.", f"Claim {index}, mended."
                status = "indeterminate"
                if rng.random() < DECIDED:
                    status = "aligned" if true else "contradicted"
                updated = mended if status == "contradicted" else None
                inside = bool(rng.random() < INSIDE)
                made.append(claim(text, score, boundary=inside, status=status, updated=updated))
                labels.append(label(name, text, "true" if true else "false"))
                if updated:
                    labels.append(label(name, mended, "true"))
            answers.append(answer(name, made))
    fields = {"budgets_percent": (BUDGET,), "bootstrap": 100, "selection_seeds": 5, **changed}
    settings = MetricSettings.model_validate(fields)
    return data_of(answers, labels, settings=settings, scenario_of=scenario_of)


def table(data: DomainData) -> pl.DataFrame:
    return frame_of(claim_level(data))


def cell(frame: pl.DataFrame, method: str, metric: str) -> dict[str, Any]:
    where = {"method": method, "metric": metric, "undecided": "excluded"}
    return row(frame, family="claims", **where)


def test_values_match_their_closed_forms() -> None:
    frame = table(drawn(1, scenarios=600))
    for method, share in (("no_rag", 0.0), ("random", BUDGET / 100), ("all_rag", 1.0)):
        auroc, true = after(share)
        # Three standard errors, as wide as 6000 claims in 600 scenarios leave them.
        assert cell(frame, method, "auroc")["value"] == pytest.approx(auroc, abs=0.025)
        assert cell(frame, method, "true_share")["value"] == pytest.approx(true, abs=0.03)


def test_selection_and_ranking_match_an_independent_computation() -> None:
    data = drawn(2, scenarios=60)
    frame, pool = table(data), data.pool
    score, inside = pool.confidence["closeness"], pool.boundary == 1
    count = math.floor(BUDGET * len(score) / 100 + 0.5)
    for method, eligible in (("uncertainty", np.ones_like(inside)), ("ue_sba", inside)):
        chosen = np.zeros(len(score), dtype=bool)
        order = np.argsort(np.where(eligible, score, np.inf), kind="stable")
        chosen[order[:count]] = True
        final = np.where(chosen & pool.decided, 1.0, score)
        true = (pool.before == LABELLED_TRUE) | (chosen & pool.decided)
        expected = {
            "auroc": roc_auc_score(true, final),
            "aupr": average_precision_score(true, final),
            "true_share": true.mean(),
        }
        for metric, value in expected.items():
            assert cell(frame, method, metric)["value"] == pytest.approx(value, abs=1e-6)


def test_intervals_cover_at_about_the_stated_rate() -> None:
    trials = 80
    covered = dict.fromkeys(
        [("no_rag", "auroc"), ("all_rag", "auroc"), ("all_rag", "true_share")], 0
    )
    known = {"no_rag": after(0.0), "all_rag": after(1.0)}
    for trial in range(trials):
        frame = table(drawn(100 + trial, scenarios=30, selection_seeds=1, bootstrap=200))
        for method, metric in covered:
            row = cell(frame, method, metric)
            truth = known[method][metric == "true_share"]
            covered[method, metric] += row["lower_95"] <= truth <= row["upper_95"]
    # 50 trials know a rate of 95 % to about 6 points; percentile intervals fall a little short.
    assert all(0.86 <= count / trials <= 1.0 for count in covered.values()), covered
    assert sum(covered.values()) / (trials * len(covered)) >= 0.90
