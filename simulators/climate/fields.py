"""The globe: grids of committed fields, how they are read, and where a change of aerosols counts.

Each point of a change stands for the emissions around it, fading with distance (Gaussian, 500 km).
How much of the world's emissions that is comes from a proxy: 90 % follow people (the populations of
cities), 10 % are spread evenly over the globe (ships, fires). The global response is that of FaIR
to the change times this share. The response is spread over the globe by a kernel that falls off
from the point with 3500 km along the meridian and 12000 km along the parallel, the reach of the
response to uneven aerosol forcing in four models (Shindell et al. 2010, doi:10.1029/2010JD014108),
times the pattern of warming; its global mean is FaIR's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.base import MissingEngineError

Array = NDArray[np.float64]

ASSETS = Path(__file__).parent / "assets"
EMISSION_COLUMNS = ("co2_gt", "ch4_mt", "so2_mt", "bc_mt")
"""Columns of emissions.csv, the world's emissions a year; the emulator reads them."""

LAPSE_DEGC_PER_M = 0.0065
"""Fall of temperature with height, the standard atmosphere's (ISO 2533)."""

EARTH_RADIUS_KM = 6371.0
POINT_RADIUS_KM = 500.0
MERIDIONAL_KM = 3500.0
ZONAL_KM = 12000.0


def bilinear(grid: NDArray[Any], latitude: Array, longitude: Array) -> Array:
    """Read values of ``grid`` at the places, in the grid's units.

    Rows run from -90 to 90 with both poles, columns from -180 on without the repeated 180.
    Longitudes from -180 to 360 are understood.
    """
    rows, columns = grid.shape
    y = (latitude + 90.0) / 180.0 * (rows - 1)
    x = np.mod(longitude + 180.0, 360.0) / 360.0 * columns
    south = np.minimum(y.astype(np.intp), rows - 2)
    west = np.minimum(x.astype(np.intp), columns - 1)
    east = np.mod(west + 1, columns)
    up, right = y - south, x - west
    lower = grid[south, west] * (1 - right) + grid[south, east] * right
    upper = grid[south + 1, west] * (1 - right) + grid[south + 1, east] * right
    return np.asarray(lower * (1 - up) + upper * up)


def node_latitudes(rows: int) -> Array:
    """Return the latitudes of a grid's rows."""
    return np.linspace(-90.0, 90.0, rows)


def node_longitudes(columns: int) -> Array:
    """Return the longitudes of a grid's columns."""
    return np.asarray(-180.0 + 360.0 / columns * np.arange(columns), dtype=np.float64)


def unit_vectors(latitude: Array, longitude: Array) -> Array:
    """Place points on the unit sphere, shape (n, 3)."""
    phi, theta = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], -1)


def distance_km(one: Array, other: Array) -> Array:
    """Compute great-circle distances between unit vectors, shape (len(one), len(other))."""
    return np.asarray(EARTH_RADIUS_KM * np.arccos(np.clip(one @ other.T, -1.0, 1.0)))


@dataclass(frozen=True)
class EmissionMap:
    """Where emissions are: cells' unit vectors (n, 3) and shares of the world, summing to 1."""

    vectors: Array
    shares: Array


def emission_map(shares: NDArray[np.float32]) -> EmissionMap:
    """Map the cells of a regular grid of cell centres, from -90, -180."""
    rows, columns = shares.shape
    latitude = -90 + 180 / rows * (np.arange(rows) + 0.5)
    longitude = -180 + 360 / columns * (np.arange(columns) + 0.5)
    lat, lon = np.meshgrid(latitude, longitude, indexing="ij")
    flat = shares.astype(np.float64).ravel()
    return EmissionMap(unit_vectors(lat.ravel(), lon.ravel()), flat / flat.sum())


def point_shares(points: Array, emissions: EmissionMap) -> Array:
    """Compute the share of the world's emissions that each (longitude, latitude) stands for.

    Where points are close together a cell counts for the nearest one only, so that no emission
    changes twice.
    """
    away = distance_km(emissions.vectors, unit_vectors(points[:, 1], points[:, 0]))
    nearest = away.argmin(axis=1)
    closest = away[np.arange(len(away)), nearest]
    counted = emissions.shares * np.exp(-0.5 * (closest / POINT_RADIUS_KM) ** 2)
    return np.asarray(np.bincount(nearest, counted, len(points)), dtype=np.float64)


def kernel(points: Array, latitude: Array, longitude: Array) -> Array:
    """Compute the fall-off from each (longitude, latitude), 1 at it: (places, points)."""
    between = np.radians(latitude[:, None] + points[None, :, 1]) / 2
    north = np.radians(latitude[:, None] - points[None, :, 1])
    turn = np.mod(longitude[:, None] - points[None, :, 0] + 180.0, 360.0) - 180.0
    meridional = EARTH_RADIUS_KM * north / MERIDIONAL_KM
    zonal = EARTH_RADIUS_KM * np.cos(between) * np.radians(turn) / ZONAL_KM
    return np.asarray(np.exp(-np.hypot(meridional, zonal)))


def regional_factor(
    points: Array, shares: Array, norms: NDArray[np.float32], latitude: Array, longitude: Array
) -> Array:
    """Compute local over global response at the places, before the pattern of warming.

    Args:
        points: (longitude, latitude) in degrees, shape (points, 2).
        shares: of the world's emissions that each point stands for.
        norms: a grid, the global mean of kernel times pattern for a point at each node.
        latitude: of the places, in degrees.
        longitude: of the places, in degrees.
    """
    at_points = bilinear(norms, points[:, 1], points[:, 0])
    weights = shares / shares.sum() / at_points
    return np.asarray(kernel(points, latitude, longitude) @ weights)


@dataclass(frozen=True)
class Fields:
    """The grids, each with both poles and from 180 W unless said otherwise."""

    climatology_degc: NDArray[np.float32]
    coarse_relief_m: NDArray[np.int16]
    relief_m: NDArray[np.int16]
    land: NDArray[np.uint8]
    """Packed bits of cells of 0.05 degrees, rows from the south."""
    pattern_land: NDArray[np.float32]
    pattern_sea: NDArray[np.float32]
    pattern_sd: NDArray[np.float32]
    response_norms: NDArray[np.float32]
    emissions: EmissionMap

    def is_land(self, latitude: Array, longitude: Array) -> NDArray[np.bool_]:
        """Return of each place whether at least half of its cell of 0.05 degrees is land."""
        rows, columns = self.land.shape[0], self.land.shape[1] * 8
        row = np.minimum(((latitude + 90) / 180 * rows).astype(np.intp), rows - 1)
        column = (np.mod(longitude + 180, 360) / 360 * columns).astype(np.intp) % columns
        bits = self.land[row, column // 8] >> (7 - column % 8).astype(np.uint8)
        return np.asarray(bits & 1, dtype=np.bool_)

    def observed(self, latitude: Array, longitude: Array) -> Array:
        """Read the mean temperature of 1979-2014, degC, brought from coarse to finer relief."""
        coarse = bilinear(self.coarse_relief_m, latitude, longitude)
        fine = bilinear(self.relief_m, latitude, longitude)
        level = bilinear(self.climatology_degc, latitude, longitude)
        return np.asarray(level + LAPSE_DEGC_PER_M * (coarse - fine))

    def pattern(self, latitude: Array, longitude: Array, land: NDArray[np.bool_]) -> Array:
        """Read the pattern: local warming per global warming."""
        on_land = bilinear(self.pattern_land, latitude, longitude)
        at_sea = bilinear(self.pattern_sea, latitude, longitude)
        return np.asarray(np.where(land, on_land, at_sea))

    def pattern_spread(self, latitude: Array, longitude: Array) -> Array:
        """Read the standard deviation of the pattern."""
        return bilinear(self.pattern_sd, latitude, longitude)


@lru_cache(maxsize=1)
def fields() -> Fields:
    """Load the grids, once a process."""
    file = open_asset("fields.npz")
    return Fields(
        climatology_degc=np.asarray(file["climatology_centidegc"] / 100, dtype=np.float32),
        coarse_relief_m=file["coarse_relief_m"],
        relief_m=file["relief_m"],
        land=file["land"],
        pattern_land=file["pattern_land"],
        pattern_sea=file["pattern_sea"],
        pattern_sd=file["pattern_sd"],
        response_norms=file["response_norms"],
        emissions=emission_map(file["emission_shares"]),
    )


def open_asset(name: str) -> Any:
    """Open an asset: its arrays by name. Raises MissingEngineError."""
    path = ASSETS / name
    if not path.is_file():
        raise MissingEngineError(
            f"{path} is missing: it belongs to the source tree; 'make assets' makes it again"
        )
    return np.load(path, allow_pickle=False)
