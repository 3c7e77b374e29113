"""The numbers below the tools: grids, surfaces, kernels, and speed."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from simulators.climate import temperature, warming
from simulators.climate.fields import (
    ASSETS,
    bilinear,
    distance_km,
    fields,
    kernel,
    point_shares,
    regional_factor,
    unit_vectors,
)
from simulators.climate.temperature import PHYSICS


def test_bilinear_is_exact_for_a_plane_and_joins_at_the_date_line() -> None:
    latitude = np.linspace(-90, 90, 19)
    grid = np.repeat(latitude[:, None], 36, axis=1)
    at = np.array([-90.0, -12.3, 0.0, 47.11, 90.0])
    assert bilinear(grid, at, np.full(5, 179.99)) == pytest.approx(at)
    wave = np.cos(np.radians(-180 + 10 * np.arange(36)))[None, :].repeat(19, axis=0)
    assert bilinear(wave, np.zeros(2), np.array([180.0, -180.0])) == pytest.approx([-1, -1])
    assert bilinear(wave, np.zeros(1), np.array([190.0])) == pytest.approx(
        bilinear(wave, np.zeros(1), np.array([-170.0]))
    )


def test_distance() -> None:
    berlin = unit_vectors(np.array([52.52]), np.array([13.41]))
    paris = unit_vectors(np.array([48.85]), np.array([2.35]))
    assert distance_km(berlin, paris)[0, 0] == pytest.approx(878, abs=5)


def test_lagrange_weights_are_exact_at_nodes_and_for_polynomials() -> None:
    nodes = np.array(warming.NODES)
    assert (warming.lagrange(nodes) == np.eye(len(nodes))).all()
    at = np.array([-88.0, -3.0, 12.5, 99.0])
    assert warming.lagrange(at) @ nodes**4 == pytest.approx(at**4)


def test_no_change_gives_exactly_the_baseline() -> None:
    years, scenarios = np.meshgrid(np.arange(2015, 2101), np.arange(4))
    zero = np.zeros(years.size)
    for change in (warming.greenhouse_change, warming.aerosol_change):
        assert (change(scenarios.ravel(), years.ravel(), zero, zero) == 0).all()


def test_scenarios_share_the_past() -> None:
    past = warming.responses().baseline[:, : 2015 - 1850]
    assert np.abs(past - past[0]).max() < 1e-6


def test_points_close_together_do_not_count_twice() -> None:
    emissions = fields().emissions
    one = point_shares(np.array([[13.4, 52.5]]), emissions).sum()
    two = point_shares(np.array([[13.4, 52.5], [13.4, 52.5]]), emissions).sum()
    near = point_shares(np.array([[13.4, 52.5], [14.4, 52.5]]), emissions).sum()
    assert two == pytest.approx(one)
    assert one < near < 1.2 * one
    assert 0.005 < one < 0.1


def test_points_all_over_the_world_are_nearly_all_emissions() -> None:
    lat, lon = np.meshgrid(np.arange(-85, 90, 10.0), np.arange(-180, 180, 10.0))
    shares = point_shares(np.stack([lon.ravel(), lat.ravel()], -1), fields().emissions)
    assert 0.6 < shares.sum() <= 1


def test_kernel_falls_with_distance_faster_north_than_east() -> None:
    point = np.array([[0.0, 0.0]])
    north = kernel(point, np.array([0.0, 10.0, 40.0, 80.0]), np.zeros(4))[:, 0]
    east = kernel(point, np.zeros(4), np.array([0.0, 10.0, 40.0, 80.0]))[:, 0]
    assert north[0] == 1
    assert (np.diff(north) < 0).all()
    assert (np.diff(east) < 0).all()
    assert (east[1:] > north[1:]).all()


@pytest.mark.parametrize("point", [(13.4, 52.5), (77.2, 28.6), (-58.4, -34.6)])
def test_regional_response_keeps_the_global_mean(point: tuple[float, float]) -> None:
    lat, lon = np.meshgrid(np.arange(-88.0, 90, 4), np.arange(-178.0, 180, 4), indexing="ij")
    at, points = (lat.ravel(), lon.ravel()), np.array([point])
    grids = fields()
    pattern = grids.pattern(*at, grids.is_land(*at))
    factor = pattern * regional_factor(points, np.ones(1), grids.response_norms, *at)
    weights = np.cos(np.radians(at[0]))
    assert (factor * weights).sum() / weights.sum() == pytest.approx(1, abs=0.04)


def test_land_and_sea() -> None:
    places = {
        "land": [(52.5, 13.4), (0.0, 20.0), (-25.0, 135.0), (64.1, -21.8), (-85.0, 0.0)],
        "sea": [(0.0, -30.0), (56.0, 3.0), (-40.0, 80.0), (35.0, 18.0), (85.0, 0.0)],
    }
    for kind, given in places.items():
        lat, lon = np.array(given).T
        assert temperature.is_land(lat, lon).tolist() == [kind == "land"] * len(given)


def test_height_cools() -> None:
    la_paz = PHYSICS.history_temperature(-16.5, -68.13, 2000).mean[0]
    arica = PHYSICS.history_temperature(-18.48, -70.30, 2000).mean[0]
    assert la_paz < arica - 5


def test_arrays_and_single_queries_agree() -> None:
    rng = np.random.default_rng(4)
    n = 200
    lat, lon = rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)
    year, which = rng.integers(2015, 2101, n), rng.integers(0, 4, n)
    co2, ch4 = rng.uniform(-100, 100, (2, n))
    whole = PHYSICS.diy_greenhouse(lat, lon, year, which, delta_co2=co2, delta_ch4=ch4)
    for k in range(0, n, 20):
        one = PHYSICS.diy_greenhouse(
            lat[k], lon[k], year[k], which[k], delta_co2=co2[k], delta_ch4=ch4[k]
        )
        assert one.temperature.mean[0] == pytest.approx(whole.temperature.mean[k], abs=1e-5)
        assert one.change.low[0] == pytest.approx(whole.change.low[k], abs=1e-5)


def test_assets_are_small_and_as_their_provenance_says() -> None:
    files = [path for path in ASSETS.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 6_000_000
    provenance = json.loads((ASSETS / "provenance.json").read_text(encoding="utf-8"))
    assert set(provenance) == {path.name for path in files} - {"provenance.json"}
    for name, entry in provenance.items():
        digest = hashlib.sha256((ASSETS / name).read_bytes()).hexdigest()
        assert entry["sha256"] == digest, f"{name} was made anew without its provenance"
        assert entry["command"]
        assert all(source["licence"] and source["credit"] for source in entry["sources"])
