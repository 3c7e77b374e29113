"""Cities by name: exact after folding, else a close spelling; several of one name are told apart
by country or population, or refused with the candidates.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from simulators.base import ArgumentError
from simulators.climate.city_names import fold
from simulators.climate.loading import ASSETS

CLEARLY_LARGER = 1.5
"""A city is taken among namesakes if it has at least this many times the people of the next."""

VARIANT_LARGER = 20.0
"""A city of another name joins the namesakes if it has this many times the people of the largest:
'New York' is a variant of New York City, and the name of smaller places."""

SAME_PLACE_DEGREES = 0.6
"""Namesakes this close are one place (a town and its district)."""

CORRECTED_FROM_POPULATION = 100_000
"""Only the names of cities this large are taken for a misspelling; smaller ones are too many."""

CORRECTED_FROM_LETTERS = 8
"""Shorter words are not corrected: one letter more often makes another name."""

SHOWN = 5


@dataclass(frozen=True)
class City:
    """One city of GeoNames."""

    name: str
    latitude: float
    longitude: float
    country: str
    state: str
    """Code of the state, only for cities of the US."""
    population: int
    variants: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name, state if any, and country code."""
        within = f"{self.state}, {self.country}" if self.state else self.country
        return f"{self.name}, {within}"

    def described(self) -> str:
        """For lists of candidates."""
        ns, ew = "N" if self.latitude >= 0 else "S", "E" if self.longitude >= 0 else "W"
        return (
            f"{self.label} ({abs(self.latitude):.2f} {ns}, {abs(self.longitude):.2f} {ew}, "
            f"{self.population} people)"
        )


@dataclass(frozen=True)
class Index:
    """Lines of the asset by folded name and by folded variant."""

    by_name: Mapping[str, Sequence[str]]
    by_variant: Mapping[str, Sequence[str]]


def find_city(city_name: str) -> City:
    """The city of this name; 'Name, Country' or 'Name (CC)' names the country or its code too, or
    a state of the US; 'Name, State, Country' names both.

    Raises ArgumentError for an unknown name and for namesakes of similar size.
    """
    whole = fold(city_name)
    if not whole:
        raise ArgumentError("city_name is empty: name a city, or give latitude and longitude")
    index = _index()
    name, regions = _parts(city_name)
    if not regions or _namesakes(city_name, whole, index):
        known = _namesakes(city_name, whole, index) or _close(whole, index, city_name)
        return _largest(known, city_name)
    known = _namesakes(name, fold(name), index) or _close(fold(name), index, name)
    for region in regions:
        # 'Georgia' and 'DE' are a country and a state: a city in either counts
        country, state = _countries().get(fold(region)), _states().get(fold(region))
        if country is None and state is None:
            raise ArgumentError(
                f"'{region}' in city_name '{city_name}' is neither a country nor a state of the "
                f"US; of that name there is: {_listed(_by_size(known))}. Name a country, or give "
                "latitude and longitude"
            )
        found = tuple(
            city
            for city in known
            if city.country == country or (state is not None and city.state == state)
        )
        if not found:
            raise ArgumentError(
                f"no city '{name}' in '{region}'; there is: {_listed(_by_size(known))}"
            )
        known = found
    return _largest(known, city_name)


def _parts(city_name: str) -> tuple[str, list[str]]:
    """Name and regions of 'Name, Country', 'Name (Country)' or 'Name, State, Country'."""
    match = re.fullmatch(
        r"\s*([^,(]+?)\s*(?:,\s*([^,()]+)(?:,\s*([^,()]+))?|\(([^()]+)\))\s*", city_name
    )
    if match is None:
        return city_name, []
    return match[1], [region for region in match.groups()[1:] if region]


def _namesakes(name: str, wanted: str, index: Index) -> tuple[City, ...]:
    """Cities of this name; those spelled just so where the accents tell, then by variants."""
    named = tuple(map(_city, index.by_name.get(wanted, ())))
    variants = tuple(map(_city, index.by_variant.get(wanted, ())))
    if not named:
        return variants
    spelled = tuple(city for city in named if city.name.casefold() == name.strip().casefold())
    if spelled and not name.isascii():
        return spelled
    most = max(city.population for city in named)
    return named + tuple(v for v in variants if v.population >= VARIANT_LARGER * max(most, 1))


def _largest(found: Sequence[City], city_name: str) -> City:
    """The one city, or the clearly largest of several places."""
    ordered = _by_size(found)
    first = ordered[0]
    others = [
        city
        for city in ordered[1:]
        if abs(city.latitude - first.latitude) > SAME_PLACE_DEGREES
        or abs(city.longitude - first.longitude) > SAME_PLACE_DEGREES
    ]
    if others and first.population < CLEARLY_LARGER * others[0].population:
        raise ArgumentError(
            f"city_name '{city_name}' is ambiguous: {_listed(ordered)}. Give latitude and "
            "longitude, or name the country as in 'Name, Country'"
        )
    return first


def _close(wanted: str, index: Index, city_name: str) -> tuple[City, ...]:
    """The large city of which this is a misspelling.

    Refused where the base name changes: a word more or less, another first letter, two letters or
    a short word that differ ('North' for 'South'), other digits.
    """
    from rapidfuzz import fuzz, process

    names = index.by_name.keys()
    hits = [hit[0] for hit in process.extract(wanted, names, scorer=fuzz.ratio, limit=4 * SHOWN)]
    largest = [max(map(_city, index.by_name[name]), key=lambda c: c.population) for name in hits]
    for city in largest:
        if city.population >= CORRECTED_FROM_POPULATION and _same_base(wanted, fold(city.name)):
            return (city,)
    raise ArgumentError(
        f"no city '{city_name}' among those of 1000 people or more; similar names: "
        f"{_listed(largest[:SHOWN])}. Check the spelling, or give latitude and longitude"
    )


def _same_base(wanted: str, name: str) -> bool:
    from rapidfuzz.distance import DamerauLevenshtein

    ours, theirs = wanted.split(), name.split()
    if len(ours) != len(theirs):
        return False
    for one, other in zip(ours, theirs, strict=True):
        short = min(len(one), len(other)) < CORRECTED_FROM_LETTERS
        if one != other and (short or one[0] != other[0] or not (one + other).isalpha()):
            return False
        if DamerauLevenshtein.distance(one, other) > 1:
            return False
    return True


def _by_size(cities: Sequence[City]) -> list[City]:
    return sorted(cities, key=lambda city: (-city.population, city.label, city.latitude))


def _listed(cities: Sequence[City]) -> str:
    shown = "; ".join(city.described() for city in cities[:SHOWN])
    more = len(cities) - SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def all_cities() -> Iterator[City]:
    """Every city of the asset."""
    return map(_city, _lines())


def _lines() -> list[str]:
    return lzma.decompress((ASSETS / "cities.tsv.xz").read_bytes()).decode().split("\n")


def _city(line: str) -> City:
    name, latitude, longitude, country, state, population, variants = line.split("\t")
    known = tuple(variants.split("|")) if variants else ()
    return City(name, float(latitude), float(longitude), country, state, int(population), known)


@lru_cache(maxsize=1)
def _countries() -> dict[str, str]:
    """ISO codes by folded name, ISO code of two or of three letters."""
    codes = {}
    for line in (ASSETS / "countries.tsv").read_text(encoding="utf-8").splitlines():
        iso, *names = line.split("\t")
        for name in (iso, *names):
            codes[fold(name)] = iso
    return codes


@lru_cache(maxsize=1)
def _states() -> dict[str, str]:
    """Codes of the states of the US by folded name and by code."""
    codes = {}
    for line in (ASSETS / "states.tsv").read_text(encoding="utf-8").splitlines():
        code, name = line.split("\t")
        codes[fold(code)] = codes[fold(name)] = code
    return codes


@lru_cache(maxsize=1)
def _index() -> Index:
    """Only lines: an object for each of 170,000 cities would take seconds at the first question."""
    names: dict[str, list[str]] = {}
    variants: dict[str, list[str]] = {}
    for line in _lines():
        names.setdefault(fold(line.partition("\t")[0]), []).append(line)
        # never the name itself: city_names.variants
        for variant in line.rpartition("\t")[2].split("|"):
            variants.setdefault(variant, []).append(line)
    variants.pop("", None)
    return Index(names, variants)
