"""Cities by name: exact after folding, else a close spelling; several of one name are told apart
by country or population, or refused with the candidates.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from simulators.base import ArgumentError
from simulators.climate.fields import ASSETS

_LETTERS = str.maketrans(
    {
        "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ß": "ss", "æ": "ae",
        "Æ": "ae", "œ": "oe", "Œ": "oe", "ı": "i", "ð": "d", "Ð": "d", "þ": "th", "Þ": "th",
        "ħ": "h", "ə": "e", "Ə": "e", "-": " ", "/": " ", ",": " ",
    }
)  # fmt: skip
_SILENT = dict.fromkeys(map(ord, "'’‘ʻʼ`´ʿʾ′."))
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


def fold(name: str) -> str:
    """Fold a name to its key, punctuation and case ignored: 'São José' is 'sao jose'."""
    letters = name.translate(_LETTERS)
    if not letters.isascii():
        plain = unicodedata.normalize("NFKD", letters)
        letters = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(letters.translate(_SILENT).casefold().split())


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

    @property
    def label(self) -> str:
        """Name, state if any, and country code."""
        within = f"{self.state}, {self.country}" if self.state else self.country
        return f"{self.name}, {within}"

    def described(self) -> str:
        """Describe the city in a list of candidates."""
        ns, ew = "N" if self.latitude >= 0 else "S", "E" if self.longitude >= 0 else "W"
        return (
            f"{self.label} ({abs(self.latitude):.2f} {ns}, {abs(self.longitude):.2f} {ew}, "
            f"{self.population} people)"
        )


def find_city(city_name: str) -> City:
    """The city of this name; 'Name, Country' or 'Name (CC)' names the country or its code too, or
    a state of the US; 'Name, State, Country' names both.

    Raises ArgumentError for an unknown name and for namesakes of similar size.
    """
    whole = fold(city_name)
    if not whole:
        raise ArgumentError("city_name is empty: name a city, or give latitude and longitude")
    name, regions = _parts(city_name)
    if not regions or _namesakes(city_name, whole):
        known = _namesakes(city_name, whole) or _close(whole, city_name)
        return _largest(known, city_name)
    known = _namesakes(name, fold(name)) or _close(fold(name), name)
    for region in regions:
        # 'Georgia' and 'DE' are a country and a state: a city in either counts
        country, state = _countries().get(fold(region)), _states().get(fold(region))
        if country is None and state is None:
            raise ArgumentError(
                f"'{region}' in city_name '{city_name}' is neither a country nor a state of the "
                f"US; of that name there is: {_listed(_by_size(known))}. Name a country, or give "
                "latitude and longitude"
            )
        within = tuple(
            city
            for city in known
            if city.country == country or (state is not None and city.state == state)
        )
        if not within:
            raise ArgumentError(
                f"no city '{name}' in '{region}'; there is: {_listed(_by_size(known))}"
            )
        known = within
    return _largest(known, city_name)


def _parts(city_name: str) -> tuple[str, list[str]]:
    """Part 'Name, Country', 'Name (Country)' or 'Name, State, Country' into name and regions."""
    match = re.fullmatch(
        r"\s*([^,(]+?)\s*(?:,\s*([^,()]+)(?:,\s*([^,()]+))?|\(([^()]+)\))\s*", city_name
    )
    if match is None:
        return city_name, []
    return match[1], [region for region in match.groups()[1:] if region]


def _namesakes(name: str, wanted: str) -> tuple[City, ...]:
    """Find cities of this name: those spelled just so where the accents tell, then by variants."""
    named, variants = _lines_with(f"\n{wanted}\t"), _lines_with(f"|{wanted}|")
    if not named:
        return variants
    spelled = tuple(city for city in named if city.name.casefold() == name.strip().casefold())
    if spelled and not name.isascii():
        return spelled
    most = max(city.population for city in named)
    return named + tuple(v for v in variants if v.population >= VARIANT_LARGER * max(most, 1))


def _largest(cities: Sequence[City], city_name: str) -> City:
    """Take the one city, or the clearly largest of several places."""
    ordered = _by_size(cities)
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


def _close(wanted: str, city_name: str) -> tuple[City, ...]:
    """Find the large city of which this is a misspelling.

    Refused where the base name changes: a word more or less, another first letter, two letters or
    a short word that differ ('North' for 'South'), other digits.
    """
    from rapidfuzz import fuzz, process

    hits = process.extract(wanted, _names(), scorer=fuzz.ratio, limit=4 * SHOWN)
    for name, *_ in hits:
        if _same_base(wanted, name):
            city = _most_people(name)
            if city.population >= CORRECTED_FROM_POPULATION:
                return (city,)
    similar = _listed([_most_people(name) for name, *_ in hits[:SHOWN]])
    raise ArgumentError(
        f"no city '{city_name}' among those of 1000 people or more; similar names: "
        f"{similar}. Check the spelling, or give latitude and longitude"
    )


def _most_people(folded: str) -> City:
    return max(_lines_with(f"\n{folded}\t"), key=lambda city: city.population)


def _same_base(wanted: str, name: str) -> bool:
    from rapidfuzz.distance import DamerauLevenshtein

    wanted_words, words = wanted.split(), name.split()
    if len(wanted_words) != len(words):
        return False
    for ours, theirs in zip(wanted_words, words, strict=True):
        short = min(len(ours), len(theirs)) < CORRECTED_FROM_LETTERS
        if ours != theirs and (short or ours[0] != theirs[0] or not (ours + theirs).isalpha()):
            return False
        if DamerauLevenshtein.distance(ours, theirs) > 1:
            return False
    return True


def _by_size(cities: Sequence[City]) -> list[City]:
    return sorted(cities, key=lambda city: (-city.population, city.label, city.latitude))


def _listed(cities: Sequence[City]) -> str:
    shown = "; ".join(city.described() for city in cities[:SHOWN])
    more = len(cities) - SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


@lru_cache(maxsize=1)
def _table() -> bytes:
    """Read the asset's lines, a newline before and after each."""
    return gzip.decompress((ASSETS / "cities.tsv.gz").read_bytes())


@lru_cache(maxsize=4096)
def _lines_with(key: str) -> tuple[City, ...]:
    """Cities whose line holds the key, sorted. A search of the bytes takes some milliseconds, an
    index of 170,000 cities seconds at the first question."""
    table, cities, end = _table(), [], 0
    wanted = key.encode(errors="replace") if key.count("|") in (0, 2) else b"\n\n"
    while (at := table.find(wanted, end)) >= 0:
        start = table.rfind(b"\n", 0, at + 1) + 1
        end = table.index(b"\n", start)
        cities.append(_city(table[start:end].decode()))
    return tuple(sorted(cities, key=lambda city: city.name))


@lru_cache(maxsize=1)
def _names() -> list[str]:
    """List the folded names, each once, sorted by the first name that is spelled so."""
    cells = (line.split("\t", 2) for line in _table().decode().split("\n")[1:-1])
    return list(dict.fromkeys(key for _, key in sorted((n or k.title(), k) for k, n, _ in cells)))


def _city(line: str) -> City:
    key, name, latitude, longitude, country, state, population, _variants = line.split("\t")
    place = (float(latitude), float(longitude))
    return City(name or key.title(), *place, country, state, int(population))


@lru_cache(maxsize=1)
def _countries() -> dict[str, str]:
    """Read ISO codes by folded name, and by ISO code of two or of three letters."""
    codes = {}
    for line in (ASSETS / "countries.tsv").read_text(encoding="utf-8").splitlines():
        iso, *names = line.split("\t")
        for name in (iso, *names):
            codes[fold(name)] = iso
    return codes


@lru_cache(maxsize=1)
def _states() -> dict[str, str]:
    """Read the codes of the states of the US by folded name and by code."""
    codes = {}
    for line in (ASSETS / "states.tsv").read_text(encoding="utf-8").splitlines():
        code, name = line.split("\t")
        codes[fold(code)] = codes[fold(name)] = code
    return codes
