"""Where a change of aerosol emissions counts: the share of the world that points stand for.

Each point stands for the emissions around it, fading with distance (Gaussian, 500 km). How much of
the world's emissions that is comes from a proxy: 90 % follow people (the populations of cities),
10 % are spread evenly over the globe (ships, fires). The global response is that of FaIR to the
change times this share. The response is spread over the globe by a kernel that falls off from the
point with 3500 km along the meridian and 12000 km along the parallel, the reach of the response to
uneven aerosol forcing in four models (Shindell et al. 2010, doi:10.1029/2010JD014108), times
the pattern of warming; its global mean is FaIR's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.climate.grids import (
    EARTH_RADIUS_KM,
    Array,
    bilinear,
    distance_km,
    unit_vectors,
)

POINT_RADIUS_KM = 500.0
MERIDIONAL_KM = 3500.0
ZONAL_KM = 12000.0

BLACK_CARBON_EFFICACY = 0.78
"""Warming by fossil-fuel black carbon relative to CO2 of the same forcing (Hansen et al. 2005,
doi:10.1029/2005JD005776)."""


@dataclass(frozen=True)
class EmissionMap:
    """Where emissions are: cells' unit vectors (n, 3) and shares of the world, summing to 1."""

    vectors: Array
    shares: Array


def emission_map(shares: NDArray[np.float32]) -> EmissionMap:
    """Cells of a regular grid of cell centres, from -90, -180."""
    rows, columns = shares.shape
    latitude = -90 + 180 / rows * (np.arange(rows) + 0.5)
    longitude = -180 + 360 / columns * (np.arange(columns) + 0.5)
    lat, lon = np.meshgrid(latitude, longitude, indexing="ij")
    flat = shares.astype(np.float64).ravel()
    return EmissionMap(unit_vectors(lat.ravel(), lon.ravel()), flat / flat.sum())


def point_shares(points: Array, emissions: EmissionMap) -> Array:
    """Share of the world's emissions that each (longitude, latitude) stands for.

    Where points are close together a cell counts for the nearest one only, so that no emission
    changes twice.
    """
    away = distance_km(emissions.vectors, unit_vectors(points[:, 1], points[:, 0]))
    nearest = away.argmin(axis=1)
    closest = away[np.arange(len(away)), nearest]
    counted = emissions.shares * np.exp(-0.5 * (closest / POINT_RADIUS_KM) ** 2)
    return np.asarray(np.bincount(nearest, counted, len(points)), dtype=np.float64)


def kernel(points: Array, latitude: Array, longitude: Array) -> Array:
    """Fall-off of the response from each (longitude, latitude): shape (places, points), 1 at it."""
    between = np.radians(latitude[:, None] + points[None, :, 1]) / 2
    north = np.radians(latitude[:, None] - points[None, :, 1])
    turn = np.mod(longitude[:, None] - points[None, :, 0] + 180.0, 360.0) - 180.0
    meridional = EARTH_RADIUS_KM * north / MERIDIONAL_KM
    zonal = EARTH_RADIUS_KM * np.cos(between) * np.radians(turn) / ZONAL_KM
    return np.asarray(np.exp(-np.hypot(meridional, zonal)))


def regional_factor(
    points: Array, shares: Array, norms: NDArray[np.float32], latitude: Array, longitude: Array
) -> Array:
    """Local over global response at the places, before the pattern of warming.

    ``norms`` is a grid: the global mean of kernel times pattern for a point at each node.
    """
    at_points = bilinear(norms, points[:, 1], points[:, 0])
    weights = shares / shares.sum() / at_points
    return np.asarray(kernel(points, latitude, longitude) @ weights)
