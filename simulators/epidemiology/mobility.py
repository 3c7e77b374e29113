"""Where people of each place spend their time: commuting and air travel, both by gravity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.places import Places

EARTH_RADIUS_KM = 6371.0
COMMUTE_SCALE_KM = 100.0
AIR_FROM_KM = 300.0
LARGEST_SHARE_AWAY = 0.4


def time_shares(places: Places, commuting_share: float, air_share: float) -> NDArray[np.float64]:
    """(home, visited) shares of time; every row sums to 1.

    Flows between two places go with the product of their populations: those of commuters fall by
    a factor e every ``COMMUTE_SCALE_KM``, those of air travellers are alike at every distance
    above ``AIR_FROM_KM``. ``commuting_share`` and ``air_share`` are national means of the time
    spent in another place.
    """
    population = places.populations.astype(np.float64)
    distance = distances_km(places.latitude_deg, places.longitude_deg)
    apart = ~np.eye(len(population), dtype=bool)
    kernels = (
        (commuting_share, np.exp(-distance / COMMUTE_SCALE_KM) * apart),
        (air_share, (distance >= AIR_FROM_KM).astype(np.float64)),
    )
    away = np.zeros_like(distance)
    for share, kernel in kernels:
        attraction = kernel * population[None, :]
        mean = (population * attraction.sum(axis=1)).sum() / population.sum()
        if mean > 0:
            away += share * attraction / mean
    total = away.sum(axis=1, keepdims=True)
    away *= np.minimum(1.0, LARGEST_SHARE_AWAY / np.maximum(total, 1e-300))
    shares: NDArray[np.float64] = away + np.diag(1.0 - away.sum(axis=1))
    return shares


def distances_km(
    latitude_deg: NDArray[np.float64], longitude_deg: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Great-circle distances between all pairs (haversine)."""
    lat, lon = np.radians(latitude_deg), np.radians(longitude_deg)
    half = (
        np.sin((lat[:, None] - lat[None, :]) / 2) ** 2
        + np.cos(lat[:, None])
        * np.cos(lat[None, :])
        * np.sin((lon[:, None] - lon[None, :]) / 2) ** 2
    )
    km: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(half, 0, 1)))
    return km
