"""Making assets: what can be tried without the source packages."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from simulators.climate.cities import fold
from simulators.climate.fields import ASSETS, fields
from studies.climate.asset_fields import (
    EVEN_SHARE,
    area_mean,
    emission_shares,
    land_at,
    response_norms,
)
from studies.climate.assets import SOURCES, WHEELS, main
from studies.climate.city_lines import asset_line, variants
from studies.climate.fair_runs import read_members


def test_members_are_distinct_and_complete() -> None:
    members = read_members()
    assert len({row["member"] for row in members}) == len(members) == 29
    assert all(float(value) == float(value) for row in members for value in row.values())
    assert all(float(row["ocean_heat_capacity_0"]) > 1 for row in members)


def test_every_wheel_is_used_and_licensed() -> None:
    assert {package for used in SOURCES.values() for package in used} == set(WHEELS)
    assert all(source["licence"] and source["credit"] for source in WHEELS.values())


def test_a_missing_wheel_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "fair-1.6.4" in said
    assert "pip download" in said


def test_emission_shares_follow_people_and_area() -> None:
    shares = emission_shares(np.array([51.0, 29.0]), np.array([1.0, 77.0]), np.array([1e6, 3e6]))
    assert shares.sum() == pytest.approx(1)
    rows = np.argsort(shares.ravel())[-2:]
    assert shares.ravel()[rows] == pytest.approx([0.225, 0.675], abs=0.001)
    empty = np.sort(shares.ravel())[:-2]
    assert empty.sum() == pytest.approx(EVEN_SHARE, abs=0.001)


def test_land_cells() -> None:
    land = np.zeros((4, 8), dtype=bool)
    land[3, 0] = True
    found = land_at(land, np.array([90.0, 80.0, 80.0, -80.0]), np.array([-180.0, 180, -134, -180]))
    assert found.tolist() == [True, True, False, False]


@pytest.mark.slow
def test_response_norms_of_an_even_pattern_depend_on_latitude_alone() -> None:
    norms = response_norms(np.ones((145, 192)))
    assert np.ptp(norms, axis=1).max() < 1e-3
    assert 0 < norms.min() < norms.max() < 1


def test_stored_patterns_average_to_one() -> None:
    grids = fields()
    whole = np.stack([grids.pattern_land, grids.pattern_sea])
    assert area_mean(whole.min(axis=0)) < 1 < area_mean(whole.max(axis=0))
    assert (whole > 0).all()


def test_a_line_of_a_city() -> None:
    city = {
        "name": "Łódź",
        "latitude": 51.77058,
        "longitude": 19.47395,
        "countrycode": "PL",
        "admin1code": "74",
        "population": 768755,
        "alternatenames": ["Lodz", "Litzmannstadt", "Лодзь", "LOZ"],
    }
    line = asset_line(city, variants(city))
    assert line == "lodz\tŁódź\t51.77\t19.47\tPL\t\t768755\t|litzmannstadt|лодзь|"


def test_cities_of_the_asset_have_eight_cells() -> None:
    text = gzip.decompress((ASSETS / "cities.tsv.gz").read_bytes()).decode()
    rows = list(csv.reader(text.split("\n")[1:-1], delimiter="\t", quoting=csv.QUOTE_NONE))
    assert {len(row) for row in rows} == {8}
    assert all(row[0] == fold(row[1] or row[0].title()) for row in rows[::50])
    assert len({tuple(row) for row in rows}) > 0.99 * len(rows)


def test_area_mean_weighs_by_area() -> None:
    sine = np.sin(np.radians(np.linspace(-90, 90, 181)))[:, None].repeat(4, axis=1)
    assert area_mean(np.ones((181, 4))) == pytest.approx(1)
    assert area_mean(sine) == pytest.approx(0, abs=1e-12)
    assert area_mean(sine**2) == pytest.approx(1 / 3, abs=1e-3)
