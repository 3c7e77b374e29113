"""The torch step against the compiled one, in distribution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom, chisquare, ks_2samp

from simulators.base import ArgumentError
from simulators.epidemiology.ensemble import run_ensemble
from simulators.epidemiology.places import load_places
from simulators.epidemiology.training.torch_step import binomial, run_scenarios_torch
from tests.unit.simulators.epidemiology.scenarios import SEASON

SHORT = replace(SEASON, days=60)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (12, 0.2), (40, 0.7), (5000, 0.001)])
def test_small_draws_follow_the_binomial_law(n: int, p: float) -> None:
    generator = torch.Generator().manual_seed(1)
    count = torch.full((20_000,), n)
    draws = binomial(count, torch.full((20_000,), p, dtype=torch.float64), generator).numpy()
    edges = np.unique(binom.ppf(np.linspace(0.02, 0.98, 12), n, p))
    law = np.diff(np.concatenate([[0.0], binom.cdf(edges, n, p), [1.0]]))
    seen = np.bincount(np.searchsorted(edges, draws), minlength=len(law))
    kept = law > 0
    assert chisquare(seen[kept], 20_000 * law[kept] / law[kept].sum()).pvalue > 1e-3


def test_members_are_distributed_as_those_of_the_compiled_step() -> None:
    chosen = [load_places().codes.index(code) for code in ("WY", "UT")]
    ours = run_scenarios_torch([SHORT], 40, 3)[0][:, :, chosen]
    theirs = run_ensemble(SHORT, range(40, 80), 4)[:, :, chosen]
    for place in range(2):
        for value in (lambda part: part.sum(axis=1), lambda part: part[:, 40]):
            pair = (value(ours[:, :, place]), value(theirs[:, :, place]))
            assert ks_2samp(*pair).pvalue > 1e-3
            assert pair[0].mean() == pytest.approx(pair[1].mean(), rel=0.1)


def test_scenarios_run_side_by_side_with_their_own_metric_and_seed() -> None:
    other = replace(SHORT, r0=1.5, metric="infections")
    once = run_scenarios_torch([SHORT, other], 2, 5)
    assert once.shape == (2, 2, 60, 51)
    assert (once == run_scenarios_torch([SHORT, other], 2, 5)).all()
    assert (once != run_scenarios_torch([SHORT, other], 2, 6)).any()
    national = run_ensemble(other, range(2), 9).sum(axis=(1, 2))
    assert once[1].sum(axis=(1, 2)) == pytest.approx(national, rel=0.05)


def test_what_cannot_run_together_is_refused() -> None:
    with pytest.raises(ArgumentError, match="number of days"):
        run_scenarios_torch([SHORT, SEASON], 2, 5)
    with pytest.raises(ArgumentError, match="512 MiB"):
        run_scenarios_torch([SHORT], 10**6, 5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")
def test_a_gpu_gives_the_same_distribution() -> None:
    ours = run_scenarios_torch([SHORT], 20, 3, device="cuda")[0].sum(axis=(1, 2))
    theirs = run_scenarios_torch([SHORT], 20, 4)[0].sum(axis=(1, 2))
    assert ks_2samp(ours, theirs).pvalue > 1e-3
