"""Calibration and conformal kappa: a second opinion, what is guaranteed, and what is undefined."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import calibration_curve

from simulrag.metrics.families.calibration import NONE, Losses, losses_of
from simulrag.metrics.ranking import RankedClaims
from simulrag.metrics.table import select
from simulrag.records import Answer, Label
from tests.making import answer, claim, failed, label
from tests.unit.metrics.measuring import FAST, dicts, measured, measured_study
from tests.unit.metrics.synthetic import study


def drawn(questions: int, shift: float) -> tuple[list[Answer], list[Label]]:
    """Claims that are true with the probability of their confidence, less ``shift``."""
    rng = random.Random(11)
    answers, labels = [], []
    for number in range(questions):
        name = f"q{number}"
        claims = []
        for place in range(12):
            confidence = rng.random()
            text = f"Claim {place}."
            claims.append(claim(text, confidence, verbalized=round(rng.random(), 2)))
            true = rng.random() < confidence - shift
            labels.append(label(name, text, "true" if true else "false"))
        answers.append(answer(name, claims))
    return answers, labels


def rows_of(table: pl.DataFrame, method: str, budget: int, metric: str) -> list[dict[str, Any]]:
    where = {"method": method, "budget_percent": budget, "metric": metric}
    return dicts(select(table, family="calibration", undecided="excluded", **where))


@pytest.mark.parametrize("method", ["no_rag", "verbalized"])
def test_against_scikit_learn(method: str) -> None:
    answers, labels = drawn(30, 0.0)
    rows = rows_of(measured(answers, labels), method, 0, "reliability")
    claims = [one for record in answers for one in record.claims]
    scores = [c.confidence["closeness"] if method == "no_rag" else c.verbalized for c in claims]
    true = [one.label == "true" for one in labels]
    share, mean = calibration_curve(true, scores, n_bins=10, strategy="uniform")
    assert [row["value"] for row in rows] == pytest.approx(share, abs=1e-6)
    assert [row["x"] for row in rows] == pytest.approx(mean, abs=1e-6)
    size = np.array([row["n"] for row in rows])
    (error,) = rows_of(measured(answers, labels), method, 0, "ece")
    expected = (size * np.abs(share - mean)).sum() / size.sum()
    assert error["value"] == pytest.approx(expected, abs=1e-6)
    assert error["n"] == len(claims)


def test_known_probabilities() -> None:
    (fair,) = rows_of(measured(*drawn(120, 0.0)), "no_rag", 0, "ece")
    (bold,) = rows_of(measured(*drawn(120, 0.2)), "no_rag", 0, "ece")
    assert fair["value"] < 0.05
    # The shift is 0.2 but for confidences below it, which cannot be less true than never.
    expected = 0.8 * 0.2 + 0.2 * 0.1
    assert bold["value"] == pytest.approx(expected, abs=0.04)
    assert bold["lower_95"] < expected < bold["upper_95"]


def test_verification_moves_decided_claims_to_the_top_bin() -> None:
    data = study(30)
    tables = measured_study(data)
    before = {row["bin"]: row["n"] for row in rows_of(tables, "no_rag", 0, "reliability")}
    after = {row["bin"]: row["n"] for row in rows_of(tables, "ue_sba", 45, "reliability")}
    assert 10 not in before
    assert after[10] > 0
    top = rows_of(tables, "all_rag", 100, "reliability")[-1]
    assert (top["bin"], top["x"]) == (10, 1.0)
    assert top["value"] > 0.85


def test_undefined_is_said() -> None:
    lost = measured([failed("q")])
    (row,) = rows_of(lost, "no_rag", 0, "ece")
    assert (row["value"], row["reason"]) == (None, "undefined: no labelled claim")
    printed = [answer("q", [claim("A.", 19.5)])]
    (row,) = rows_of(measured(printed, [label("q", "A.", "true")]), "no_rag", 0, "ece")
    assert row["reason"] == "undefined: these scores are not shares between 0 and 1"


def ranked(*questions: list[tuple[float, bool]], scenario: list[int] | None = None) -> RankedClaims:
    """Each question a list of (score, true)."""
    rows = [(q, score, true) for q, claims in enumerate(questions) for score, true in claims]
    places = scenario or list(range(len(questions)))
    return RankedClaims(
        scores=np.array([score for _, score, _ in rows]),
        true=np.array([true for *_, true in rows]),
        scenario=np.array([places[q] for q, *_ in rows]),
        question=np.array([q for q, *_ in rows]),
    )


def loss_of(losses: Losses, unit: int) -> list[float]:
    """A scenario's loss at each threshold, from the highest down."""
    inside = losses.unit == unit
    rises = np.bincount(
        losses.level[inside], weights=losses.rise[inside], minlength=len(losses.thresholds)
    )
    return list(np.cumsum(rises))


def test_losses_worked_by_hand() -> None:
    first = [(0.9, True), (0.7, False), (0.5, True), (0.3, True)]
    second = [(0.7, True), (0.5, True), (0.3, False)]
    losses = losses_of(ranked(first, second))
    assert losses.thresholds.tolist() == [0.9, 0.7, 0.5, 0.3]
    # The first's shares of false claims are 0, 1/2, 1/3, 1/4: the loss stays at its highest.
    assert loss_of(losses, 0) == pytest.approx([0, 1 / 2, 1 / 2, 1 / 2])
    assert loss_of(losses, 1) == pytest.approx([0, 0, 0, 1 / 3])
    losses = losses_of(ranked(first, second, scenario=[4, 4]))
    assert loss_of(losses, 4) == pytest.approx([0, 1 / 4, 1 / 4, 5 / 12])


def test_kappa_worked_by_hand() -> None:
    # Nine scenarios: one loses 1/2 at 0.7, all lose 1 at 0.5.
    losses = Losses(
        thresholds=np.array([0.9, 0.7, 0.5]),
        level=np.array([1, *[2] * 9]),
        unit=np.array([0, *range(9)]),
        rise=np.array([0.5, 0.5, *[1.0] * 8]),
    )
    # (sum of losses + 1) / 10 is 0.1, 0.15 and 1.
    assert losses.kappa(np.arange(9), 0.09) is None
    assert losses.kappa(np.arange(9), 0.1) == 0.9
    assert losses.kappa(np.arange(9), 0.2) == 0.7
    assert losses.kappa(np.arange(9), 0.999) == 0.7
    assert losses.kappa(np.arange(1, 9), 0.12) == 0.7


def simulated(rng: np.random.Generator, scenarios: int, skill: float) -> RankedClaims:
    """Scenarios of differing difficulty, 1 to 3 questions each, 2 to 12 claims a question.

    Truth follows the score as far as ``skill`` goes; a fifth of the scores tie at 1.
    """
    rows: list[tuple[float, bool, int, int]] = []
    question = itertools.count()
    for scenario in range(scenarios):
        ease = rng.normal(0, 1)
        for _ in range(rng.integers(1, 4)):
            number = next(question)
            for _ in range(rng.integers(2, 13)):
                score = 1.0 if rng.random() < 0.2 else rng.random()
                chance = 1 / (1 + np.exp(-(ease + skill * (score - 0.4))))
                rows.append((score, bool(rng.random() < chance), scenario, number))
    scores, true, places, numbers = map(np.array, zip(*rows, strict=True))
    return RankedClaims(scores, true, places, numbers)


def risk_and_kept(claims: RankedClaims, kappa: float | None) -> tuple[float, float]:
    """The guaranteed risk by a plain loop, and the share of claims kept."""
    if kappa is None:
        return 0.0, 0.0
    keep = claims.scores >= kappa - 1e-9
    by_scenario: dict[int, list[float]] = {}
    for question in np.unique(claims.question):
        mine = claims.question == question
        kept = int((mine & keep).sum())
        false = int((mine & keep & ~claims.true).sum())
        scenario = int(claims.scenario[mine][0])
        by_scenario.setdefault(scenario, []).append(false / kept if kept else 0.0)
    risks = [float(np.mean(values)) for values in by_scenario.values()]
    return float(np.mean(risks)), float(keep.mean())


@pytest.mark.parametrize(
    ("alpha", "scenarios", "skill", "least_kept"),
    [(0.1, 40, 8.0, 0.05), (0.2, 40, 8.0, 0.3), (0.2, 15, 8.0, 0.1), (0.3, 40, 0.0, 0.0)],
)
def test_the_guarantee_holds_on_new_scenarios(
    alpha: float, scenarios: int, skill: float, least_kept: float
) -> None:
    """The mean false share over many calibrations stays below alpha; it is not kept by nothing."""
    rng = np.random.default_rng([20265, int(100 * alpha), scenarios])
    risks, kept, careless = [], [], []
    for _ in range(150):
        past = simulated(rng, scenarios, skill)
        kappa = losses_of(past).kappa(np.unique(past.scenario), alpha)
        fresh = simulated(rng, 40, skill)
        risk, share = risk_and_kept(fresh, kappa)
        careless.append(risk_and_kept(fresh, 0.0)[0])
        risks.append(risk)
        kept.append(share)
    error = float(np.std(risks)) / np.sqrt(len(risks))
    assert np.mean(risks) <= alpha + 2.5 * error
    assert np.mean(kept) >= least_kept
    # Keeping everything would break it, so it is kappa that keeps it.
    assert np.mean(careless) > alpha + 0.05


def thresholds(table: pl.DataFrame, method: str, budget: int) -> dict[str, dict[str, Any]]:
    where = {"method": method, "budget_percent": budget, "undecided": "excluded"}
    return {row["metric"]: row for row in dicts(select(table, family="conformal", **where))}


def test_the_table_holds_kappa_and_what_it_does_elsewhere() -> None:
    data = study(60, failures=2)
    rows = thresholds(measured_study(data, FAST.model_copy(update={"alpha": 0.3})), "ue_sba", 45)
    assert 0 < rows["kappa"]["value"] <= 1
    assert (rows["kappa"]["n"], rows["kappa"]["alpha"]) == (29, 0.3)
    assert rows["held_out_precision"]["value"] > 0.65
    assert 0 < rows["held_out_kept"]["value"] <= 1
    assert rows["held_out_precision"]["lower_95"] <= rows["held_out_precision"]["value"]


def test_too_few_scenarios_keep_nothing_and_say_so() -> None:
    record = answer("q", [claim("A."), claim("B.")])
    rows = thresholds(
        measured([record], [label("q", "A.", "true"), label("q", "B.", "false")]), "no_rag", 0
    )
    assert (rows["kappa"]["value"], rows["kappa"]["reason"]) == (None, NONE)
    assert rows["held_out_precision"]["reason"] == "undefined: one scenario only"
    lost = thresholds(measured([record]), "all_rag", 100)
    assert lost["kappa"]["reason"] == "undefined: no labelled claim"
