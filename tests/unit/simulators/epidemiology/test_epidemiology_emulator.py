"""The mean field and the emulator from its committed weights, against the model they stand for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from simulators.base import ArgumentError, MissingEngineError
from simulators.epidemiology import EpidemiologySimulator
from simulators.epidemiology.arguments import METRICS, ForecastArguments, Metric
from simulators.epidemiology.emulator import WEIGHTS, draw, emulate, load_emulator
from simulators.epidemiology.emulator.mean_field import expected
from simulators.epidemiology.emulator.network import Context
from simulators.epidemiology.ensemble import Conditions, run_ensemble
from simulators.epidemiology.places import load_places
from studies.epidemiology.courses import weekly_noise
from studies.epidemiology.evaluation import compare
from tests.unit.simulators.epidemiology.scenarios import SEASON

ONE = Conditions(start=date(2022, 10, 5), r0=2.4, prior_immunity_percent=30)
CALL = ForecastArguments.model_validate(
    {
        "states": ["Ohio", "UT"],
        "start_date": "2022-10-05",
        "r0": 2.4,
        "seasonality": "moderate",
        "prior_immunity_percent": 30,
        "metric": "hospital prevalence",
        "per_state": True,
    }
)


def test_the_committed_metrics_are_within_the_targets() -> None:
    found = json.loads(WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))["emulator"]
    assert found["log_peak_mae"] <= 0.05
    assert found["peak_week_mae"] <= 0.3
    assert 0.85 <= found["peak_coverage_90"] <= 0.95
    assert WEIGHTS.stat().st_size < 3e6


def test_scenarios_alone_or_together_come_out_alike() -> None:
    other = replace(ONE, r0=1.6, days=420, metric="infections")
    both = emulate(load_emulator(), [ONE, other], [[3, 7], [9]], 5, 1)
    assert both[0].shape == (5, 315, 2)
    assert both[1].shape == (5, 420, 1)
    alone = emulate(load_emulator(), [other], [[9]], 5, 1)[0]
    assert np.abs(both[1] - alone).max() <= 1
    assert (both[0] != emulate(load_emulator(), [ONE], [[3, 7]], 5, 2)[0]).any()


def test_the_simulators_backends_agree_and_differ_in_their_fingerprint() -> None:
    emulated = EpidemiologySimulator(members=30, backend="emulator")
    mechanistic = EpidemiologySimulator(members=30)
    ours, theirs = (one.run("forecast", CALL, 3) for one in (emulated, mechanistic))
    assert ours.peak_median == pytest.approx(theirs.peak_median, rel=0.05)
    assert ours.weeks_to_peak == pytest.approx(theirs.weeks_to_peak, abs=0.6)
    assert ours.trend == theirs.trend
    assert [one.state for one in ours.per_state] == ["Ohio", "Utah"]
    assert ours == emulated.run("forecast", CALL, 3)
    assert emulated.fingerprint() != mechanistic.fingerprint()
    with pytest.raises(ArgumentError, match="mechanistic, emulator"):
        EpidemiologySimulator(backend="magic")  # type: ignore[arg-type]


def test_draws_have_the_asked_mean_and_noise() -> None:
    daily = np.tile([3.0, 400.0], (140, 1))
    flat = np.zeros((3, 20, 2))
    counts = draw(daily, flat, (0, 1), members=400, seed=5, rho=0.8)
    assert counts.mean(axis=(0, 1)) == pytest.approx([3, 400], rel=0.03)
    assert counts.var(axis=(0, 1)) == pytest.approx([3, 400], rel=0.08)
    weekly = counts.reshape(400, 20, 7, 2).mean(axis=2)
    assert weekly.var(axis=(0, 1))[1] == pytest.approx(400 * weekly_noise(0.8), rel=0.08)
    flat[1] = 0.1
    spread = np.log(draw(daily, flat, (0, 1), members=400, seed=5, rho=0.8)[:, :, 1].mean(axis=1))
    assert spread.std() == pytest.approx(0.1, rel=0.2)


def test_no_context_is_a_context(tmp_path: Path) -> None:
    emulator = load_emulator()
    empty = Context(*(part[:0] for part in emulator.context))
    alone = emulate(replace(emulator, context=empty), [ONE], [[3]], 20, 1)[0].sum(axis=2)
    helped = emulate(emulator, [ONE], [[3]], 20, 1)[0].sum(axis=2)
    assert compare([alone], [helped])["log_peak_mae"] < 0.2


def test_weights_that_are_absent_or_spoilt_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingEngineError, match="make train"):
        load_emulator(tmp_path / "none.npz")
    spoilt = tmp_path / "spoilt.npz"
    spoilt.write_bytes(b"nothing")
    with pytest.raises(MissingEngineError, match=r"spoilt.npz"):
        load_emulator(spoilt)


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
