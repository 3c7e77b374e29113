"""The mean field against the ensemble that it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulators.epidemiology.arguments import METRICS, Metric
from simulators.epidemiology.emulator.mean_field import expected
from simulators.epidemiology.ensemble import run_ensemble
from simulators.epidemiology.places import load_places
from tests.unit.simulators.epidemiology.scenarios import SEASON

CODES = load_places().codes


@pytest.mark.parametrize("metric", METRICS)
def test_members_scatter_around_the_mean_field(metric: Metric) -> None:
    conditions = replace(SEASON, metric=metric)
    chosen = [CODES.index(code) for code in ("CA", "OH", "UT")]
    members = run_ensemble(conditions, range(6), 3)[:, :, chosen].mean(axis=0)
    curve = expected(conditions, chosen)
    assert curve.shape == (conditions.days, 3)
    assert np.abs(curve.argmax(axis=0) - members.argmax(axis=0)).max() <= 4
    assert curve.max(axis=0) == pytest.approx(members.max(axis=0), rel=0.06)
    assert curve.sum(axis=0) == pytest.approx(members.sum(axis=0), rel=0.03)


def test_the_places_beside_it_do_not_change_a_places_course() -> None:
    alone = expected(SEASON, [5])
    assert (expected(SEASON, [3, 5])[:, 1] == alone[:, 0]).all()
