"""Lines of the asset of cities, out of the records of GeoNames."""

from __future__ import annotations

from collections.abc import Mapping

from simulators.climate.cities import fold

VARIANTS_FROM_POPULATION = 5_000
OTHER_SCRIPTS_FROM_POPULATION = 100_000


def variants(city: Mapping[str, object]) -> list[str]:
    """Folded alternate names other than the name: in Latin letters, of four or more, for cities
    of 5,000 people; in other scripts for those of 100,000."""
    population, given = int(str(city["population"])), city["alternatenames"]
    if population < VARIANTS_FROM_POPULATION or not isinstance(given, list):
        return []
    names = {fold(str(name)) for name in given} - {fold(str(city["name"]))}
    latin = {name for name in names if name.isascii() and len(name) > 3}
    if population < OTHER_SCRIPTS_FROM_POPULATION:
        return sorted(latin)
    # ideographs make names of two
    return sorted(latin | {n for n in names if not any(map(str.isascii, n)) and len(n) > 1})


def asset_line(city: Mapping[str, object], known: list[str]) -> str:
    """One line of the asset: folded name, name where title case does not give it, latitude,
    longitude, country, state (of the US), population, variants between bars."""
    state = str(city["admin1code"]) if city["countrycode"] == "US" else ""
    name = str(city["name"]).replace("\t", " ")
    key = fold(name)
    cells = [
        key,
        "" if key.title() == name else name,
        f"{float(str(city['latitude'])):.2f}",
        f"{float(str(city['longitude'])):.2f}",
        str(city["countrycode"]),
        state,
        str(city["population"]),
        f"|{'|'.join(known)}|" if known else "",
    ]
    return "\t".join(cells)
