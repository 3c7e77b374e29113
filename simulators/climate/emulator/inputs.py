"""What the emulator sees of a query: the history of emissions, the place, and aerosol changes.

No scenario, year or coordinate enters as such, so that a scenario or a region that was never seen
is described like those that were. The history of each gas is brought near to a forcing by the
simplest models there are: CO2 by the impulse response of Joos et al. 2013
(doi:10.5194/acp-13-2793-2013) and the logarithm of Myhre et al. 1998 (doi:10.1029/98GL01908), CH4
by one lifetime and a square root. What is left is for the network to learn.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulators.base import MissingEngineError
from simulators.climate.fields import (
    ASSETS,
    EMISSION_COLUMNS,
    Array,
    bilinear,
    fields,
    node_latitudes,
    node_longitudes,
    point_shares,
    regional_factor,
)
from simulators.climate.warming import CHANGE_FROM, FIRST_YEAR, LAST_YEAR, SCENARIOS

Single = NDArray[np.float32]

LAGS = {"co2": (0, 12, 36, 80), "ch4": (0, 12, 36), "so2": (0, 12, 36), "bc": (0, 12, 36)}
"""Years before the one asked for at which a gas is looked at."""

HISTORY_SIZE = sum(len(lags) for lags in LAGS.values())
PLACE_SIZE = 7

_CO2_POOLS = ((0.2173, np.inf), (0.2240, 394.4), (0.2824, 36.54), (0.2763, 4.304))
_GT_CO2_PER_PPM = 7.78
_CO2_PPM_1850 = 284.0
_CH4_LIFETIME_YEARS = 12.0
_MT_CH4_PER_PPB = 2.75
_CH4_PPB_1850 = 808.0
_COARSE_DEGREES = 10


@dataclass(frozen=True)
class Inputs:
    """Rows of queries, single precision.

    ``history`` (n, HISTORY_SIZE): lagged forcings in W/m2 (CO2, CH4), emissions over those of 2015
    (SO2, BC). ``place`` (n, PLACE_SIZE): pattern of warming, coarse pattern, spread of the
    pattern, observed temperature (degC), relief and coarse relief (m), land (0 or 1). ``aerosol``
    (n, 4): change of SO2 and of BC as parts of the world's emissions, as felt at the place and in
    the whole.
    """

    history: Single
    place: Single
    aerosol: Single

    def __len__(self) -> int:
        return len(self.history)


def history(
    scenario: NDArray[np.intp], year: NDArray[np.intp], co2_percent: Array, ch4_percent: Array
) -> Single:
    """Compute lagged forcings of 2015-2100 with CO2 and CH4 emissions changed from 2015 on."""
    base, future = _burdens()
    columns = []
    for lag in LAGS["co2"]:
        at = (scenario, year - lag - FIRST_YEAR)
        ppm = base["co2"][at] + co2_percent / 100 * future["co2"][at]
        columns.append(5.35 * np.log(np.maximum(ppm, 100.0) / _CO2_PPM_1850))
    for lag in LAGS["ch4"]:
        at = (scenario, year - lag - FIRST_YEAR)
        ppb = base["ch4"][at] + ch4_percent / 100 * future["ch4"][at]
        columns.append(0.036 * (np.sqrt(np.maximum(ppb, 0.0)) - np.sqrt(_CH4_PPB_1850)))
    columns += [
        base[gas][scenario, year - lag - FIRST_YEAR] for gas in ("so2", "bc") for lag in LAGS[gas]
    ]
    return np.stack(columns, axis=-1).astype(np.float32)


def place(latitude: Array, longitude: Array, land: NDArray[np.bool_]) -> Single:
    """Read the static fields at the places."""
    grids = fields()
    return np.stack(
        [
            grids.pattern(latitude, longitude, land),
            bilinear(_coarse_pattern(), latitude, longitude),
            grids.pattern_spread(latitude, longitude),
            grids.observed(latitude, longitude),
            bilinear(grids.relief_m, latitude, longitude),
            bilinear(grids.coarse_relief_m, latitude, longitude),
            land,
        ],
        axis=-1,
    ).astype(np.float32)


def aerosol(
    latitude: Array, longitude: Array, so2_percent: Array, bc_percent: Array, points: Array
) -> Single:
    """Grid emission changes around the points [[longitude, latitude], ...], as parts of 1."""
    grids = fields()
    shares = point_shares(points, grids.emissions)
    felt = regional_factor(points, shares, grids.response_norms, latitude, longitude)
    parts = np.stack([so2_percent, bc_percent], axis=-1) / 100 * shares.sum()
    return np.concatenate([felt[:, None] * parts, parts], axis=-1).astype(np.float32)


def no_aerosol(count: int) -> Single:
    """Return rows of unchanged aerosol emissions."""
    return np.zeros((count, 4), dtype=np.float32)


@lru_cache(maxsize=1)
def _burdens() -> tuple[dict[str, Array], dict[str, Array]]:
    """Compute per gas (scenarios, years): with all emissions, and what those from 2015 on add."""
    emitted = _emissions()
    later = np.arange(FIRST_YEAR, LAST_YEAR + 1) >= CHANGE_FROM
    age = np.arange(emitted["co2"].shape[1], dtype=np.float64)
    pools = np.stack([part * np.exp(-age / years) for part, years in _CO2_POOLS])
    left = pools.sum(axis=0) / _GT_CO2_PER_PPM
    decayed = np.asarray(np.exp(-age / _CH4_LIFETIME_YEARS) / _MT_CH4_PER_PPB)
    above = emitted["ch4"] - emitted["ch4"][:, :1]
    base = {
        "co2": _CO2_PPM_1850 + _convolved(emitted["co2"], left),
        "ch4": _CH4_PPB_1850 + _convolved(above, decayed),
    }
    for gas in ("so2", "bc"):
        base[gas] = emitted[gas] / emitted[gas][:, [CHANGE_FROM - FIRST_YEAR]]
    future = {
        "co2": _convolved(emitted["co2"] * later, left),
        "ch4": _convolved(emitted["ch4"] * later, decayed),
    }
    return base, future


def _convolved(emitted: Array, kernel: Array) -> Array:
    years = emitted.shape[1]
    return np.stack([np.convolve(row, kernel)[:years] for row in emitted])


def _emissions() -> dict[str, Array]:
    """Read per gas the world's emissions, (scenarios, years 1850-2100)."""
    path = ASSETS / "emissions.csv"
    if not path.is_file():
        raise MissingEngineError(f"{path} is missing: it belongs to the source tree")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        column.partition("_")[0]: np.array([float(row[column]) for row in rows]).reshape(
            len(SCENARIOS), -1
        )
        for column in EMISSION_COLUMNS
    }


@lru_cache(maxsize=1)
def _coarse_pattern() -> Array:
    """Average the pattern of warming in squares of 10 degrees, with both poles, from 180 W."""
    step = _COARSE_DEGREES
    rows, columns = node_latitudes(180 // step + 1), node_longitudes(360 // step)
    inside = np.arange(-step / 2 + 1, step / 2, 2)
    lat, lon, north, east = (
        axis.ravel() for axis in np.meshgrid(rows, columns, inside, inside, indexing="ij")
    )
    lat = np.clip(lat + north, -90.0, 90.0)
    grids = fields()
    whole = grids.pattern(lat, lon + east, grids.is_land(lat, lon + east))
    weights = np.cos(np.radians(lat)) + 1e-6
    shape = (len(rows), len(columns), -1)
    total = (whole * weights).reshape(shape).sum(axis=-1)
    return np.asarray(total / weights.reshape(shape).sum(axis=-1))
