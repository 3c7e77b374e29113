"""The 51 places (50 states and the District of Columbia): their people, contacts and travel.

Facts come from the CSV files in ``assets``; ``assets/SOURCES.md`` says where each is from. People
of each place commute and fly to others, both by gravity.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulators.base import ArgumentError

ASSETS = Path(__file__).parent / "assets"
AGES = ("0-4", "5-17", "18-49", "50-64", "65+")
SCHOOL_AGE = 1
_SHARES = (
    "age_0_4_percent",
    "age_5_17_percent",
    "age_18_49_percent",
    "age_50_64_percent",
    "age_65_up_percent",
)
_ALIASES = {"washington dc": "DC", "washington d.c.": "DC", "d.c.": "DC"}
EARTH_RADIUS_KM = 6371.0
COMMUTE_SCALE_KM = 100.0
AIR_FROM_KM = 300.0
LARGEST_SHARE_AWAY = 0.4


@dataclass(frozen=True, eq=False)  # equal by identity, so that what follows from them is cached
class Places:
    """``people`` is (age, place), ``contacts`` (age, age) a day, positions in degrees."""

    codes: tuple[str, ...]
    names: tuple[str, ...]
    people: NDArray[np.int64]
    latitude_deg: NDArray[np.float64]
    longitude_deg: NDArray[np.float64]
    contacts: NDArray[np.float64]

    @property
    def populations(self) -> NDArray[np.int64]:
        """People by place."""
        return np.asarray(self.people.sum(axis=0), dtype=np.int64)


@lru_cache(maxsize=1)
def load_places() -> Places:
    """Load the places in alphabetical order of their names."""
    rows = _rows("places.csv")
    rows.sort(key=lambda row: row["name"])
    totals = np.array([int(row["population"]) for row in rows], dtype=np.int64)
    shares = np.array([[float(row[column]) for row in rows] for column in _SHARES])
    people = np.floor(totals * shares / shares.sum(axis=0)).astype(np.int64)
    # The census count is kept to the person: what the floors lost goes to the largest group.
    largest = AGES.index("18-49")
    people[largest] += totals - people.sum(axis=0)
    contacts = np.array([[float(row[age]) for age in AGES] for row in _rows("contacts.csv")])
    return Places(
        codes=tuple(row["code"] for row in rows),
        names=tuple(row["name"] for row in rows),
        people=people,
        latitude_deg=np.array([float(row["latitude_deg"]) for row in rows]),
        longitude_deg=np.array([float(row["longitude_deg"]) for row in rows]),
        contacts=contacts,
    )


def find_states(named: Sequence[str]) -> tuple[str, ...]:
    """Find full names for names or postal abbreviations, in the order given.

    Raises ArgumentError for an empty list, a repeated state or an unknown one (with the nearest).
    """
    places = load_places()
    if not named:
        raise ArgumentError("states is empty: name at least one state, for example ['Ohio']")
    known = {name.casefold(): name for name in places.names}
    codes = dict(zip(places.codes, places.names, strict=True))
    chosen = []
    for text in named:
        key = " ".join(text.split())
        folded = key.casefold()
        name = known.get(folded) or codes.get(_ALIASES.get(folded, key.upper()))
        if name is None:
            # Cut-off 0: there is always a nearest name to show.
            near = get_close_matches(folded, list(known), n=3, cutoff=0.0)
            nearest = ", ".join(known[word] for word in near)
            raise ArgumentError(f"no state is called '{text}'; the nearest names are {nearest}")
        if name in chosen:
            raise ArgumentError(f"states names {name} twice")
        chosen.append(name)
    return tuple(chosen)


def _rows(name: str) -> list[dict[str, str]]:
    with (ASSETS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@lru_cache(maxsize=8)
def time_shares(places: Places, commuting_share: float, air_share: float) -> NDArray[np.float64]:
    """Compute (home, visited) shares of time; every row sums to 1.

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
    """Compute great-circle distances between all pairs (haversine)."""
    lat, lon = np.radians(latitude_deg), np.radians(longitude_deg)
    half = (
        np.sin((lat[:, None] - lat[None, :]) / 2) ** 2
        + np.cos(lat[:, None])
        * np.cos(lat[None, :])
        * np.sin((lon[:, None] - lon[None, :]) / 2) ** 2
    )
    km: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(half, 0, 1)))
    return km
