"""Regular global grids: bilinear reading and the geometry of the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EARTH_RADIUS_KM = 6371.0


def bilinear(grid: NDArray[Any], latitude: Array, longitude: Array) -> Array:
    """Values of ``grid`` at the places, in the grid's units.

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
    """Latitudes of a grid's rows."""
    return np.linspace(-90.0, 90.0, rows)


def node_longitudes(columns: int) -> Array:
    """Longitudes of a grid's columns."""
    return np.asarray(-180.0 + 360.0 / columns * np.arange(columns), dtype=np.float64)


def unit_vectors(latitude: Array, longitude: Array) -> Array:
    """Points on the unit sphere, shape (n, 3)."""
    phi, theta = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], -1)


def distance_km(one: Array, other: Array) -> Array:
    """Great-circle distances between unit vectors, shape (len(one), len(other))."""
    return np.asarray(EARTH_RADIUS_KM * np.arccos(np.clip(one @ other.T, -1.0, 1.0)))
