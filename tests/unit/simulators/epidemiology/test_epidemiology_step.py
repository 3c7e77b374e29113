"""The chain binomial: draws, conservation, final size, seeds, coverage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chisquare

from simulators.epidemiology.arguments import METRICS
from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.ensemble import (
    Conditions,
    initial_states,
    member_inputs,
    run_ensemble,
)
from simulators.epidemiology.places import load_places
from simulators.epidemiology.step import EXACT_VARIANCE, binomial, run_member
from tests.unit.simulators.epidemiology.scenarios import PLAIN, SEASON, START, one_place


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (12, 0.2), (40, 0.7), (5000, 0.001)])
def test_small_draws_follow_the_binomial_law(n: int, p: float) -> None:
    assert n * p * (1 - p) <= EXACT_VARIANCE
    rng = np.random.default_rng(1)
    draws = np.array([binomial(rng, n, p, np.log(p), np.log1p(-p)) for _ in range(20_000)])
    edges = np.unique(binom.ppf(np.linspace(0.02, 0.98, 12), n, p))
    law = np.diff(np.concatenate([[0.0], binom.cdf(edges, n, p), [1.0]]))
    seen = np.bincount(np.searchsorted(edges, draws), minlength=len(law))
    kept = law > 0
    assert chisquare(seen[kept], 20_000 * law[kept] / law[kept].sum()).pvalue > 1e-3


@pytest.mark.parametrize(("n", "p"), [(400, 0.3), (10_000_000, 1e-4), (3000, 0.97)])
def test_large_draws_have_the_binomials_mean_and_variance(n: int, p: float) -> None:
    rng = np.random.default_rng(2)
    draws = np.array([binomial(rng, n, p, np.log(p), np.log1p(-p)) for _ in range(20_000)])
    sd = math.sqrt(n * p * (1 - p))
    assert draws.mean() == pytest.approx(n * p, abs=5 * sd / math.sqrt(20_000))
    assert draws.std() == pytest.approx(sd, rel=0.03)
    assert draws.min() >= 0
    assert draws.max() <= n


def test_draws_at_the_ends() -> None:
    rng = np.random.default_rng(3)
    ends = ((0, 0.5, np.log(0.5), np.log(0.5)), (9, 0.0, -np.inf, 0.0), (9, 1.0, 0.0, -np.inf))
    assert [binomial(rng, *end) for end in ends] == [0, 0, 9]


def test_nobody_is_lost_or_made() -> None:
    places = load_places()
    rng = np.random.default_rng(4)
    states = initial_states(SEASON, DISEASE, places, rng)
    assert (states.sum(axis=0) == places.people).all()
    out = np.zeros((SEASON.days, 51), dtype=np.int64)
    run_member(rng, states, member_inputs(SEASON, DISEASE, places), 0, out)
    assert (states.sum(axis=0) == places.people).all()
    assert (states >= 0).all()
    assert states[4].sum() > 1.5 * 0.3 * places.people.sum()


def test_flows_add_up_to_stocks() -> None:
    """Admissions so far less those in hospital have left; hospital starts with its patients."""
    asked = {name: replace(SEASON, metric=name) for name in METRICS}
    runs = {name: run_ensemble(asked[name], [7], 5)[0] for name in METRICS}
    held = runs["hospital prevalence"].sum(axis=1)
    admitted = runs["hospital incidence"].sum(axis=1)
    gone = held[:-1] + admitted[:-1] - held[1:]
    assert (gone >= 0).all()
    assert gone.sum() == pytest.approx((held / DISEASE.stay_days).sum(), rel=0.05)
    latent = runs["latent"].sum(axis=1)
    infected = runs["infections"].sum(axis=1)
    onsets = latent[:-1] + infected[:-1] - latent[1:]
    assert (onsets >= 0).all()
    assert onsets.sum() == pytest.approx((latent / DISEASE.latent_days).sum(), rel=0.02)


@pytest.mark.parametrize("r0", [1.3, 1.5, 1.8, 3.0])
def test_attack_rates_obey_the_final_size_relation(r0: float) -> None:
    """One well-mixed place without seasons: S_end = S_0 exp(-R0 (1 - S_end))."""
    places = one_place()
    disease = replace(PLAIN, initial_infected=1e-4)
    conditions = Conditions(start=START, r0=r0, metric="infections", days=700)
    infected = run_ensemble(conditions, range(3), 6, disease, places).sum(axis=(1, 2))
    first = 1 - disease.initial_infected
    left = brentq(lambda end: end - first * math.exp(-r0 * (1 - end)), 1e-9, 1 - 1e-3)
    expected = (first - left) * places.people.sum()
    assert infected == pytest.approx(np.full(3, expected), rel=0.01)


def test_the_same_seed_gives_the_same_trajectories_in_any_ensemble() -> None:
    once = run_ensemble(SEASON, range(3), 11)
    assert (once == run_ensemble(SEASON, range(3), 11)).all()
    assert (once[2] == run_ensemble(SEASON, [2], 11)[0]).all()
    assert (once != run_ensemble(SEASON, range(3), 12)).any()
    assert (once[0] != once[1]).any()


@pytest.mark.slow
def test_intervals_cover_nine_in_ten_fresh_members() -> None:
    chosen = [load_places().codes.index(code) for code in ("VT", "WY", "NH")]
    for conditions in (SEASON, replace(SEASON, r0=1.8, prior_immunity_percent=40)):
        short = replace(conditions, days=100)
        series = run_ensemble(short, range(300), 13)[:, :, chosen].sum(axis=2)
        low, high = np.quantile(series[:150].max(axis=1), (0.05, 0.95))
        fresh = series[150:].max(axis=1)
        assert 0.84 <= ((fresh >= low) & (fresh <= high)).mean() <= 0.96


def test_a_state_without_cases_is_reached_by_travel() -> None:
    places = load_places()
    disease = replace(PLAIN, initial_infected=0.0)
    rng = np.random.default_rng(14)
    states = initial_states(SEASON, disease, places, rng)
    new_york, vermont = places.codes.index("NY"), places.codes.index("VT")
    states[0, 2, new_york] -= 5000
    states[2, 2, new_york] += 5000
    out = np.zeros((120, 51), dtype=np.int64)
    conditions = replace(SEASON, days=120)
    run_member(rng, states, member_inputs(conditions, disease, places), 2, out)
    assert out[0, vermont] < 50
    assert out[:, vermont].sum() > 10_000
