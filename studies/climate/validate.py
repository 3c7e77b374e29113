"""Errors against published records: ``python -m studies.climate.validate DIR``.

DIR holds a ``parsed.csv``, one row a question: ``kind``, ``name``, ``lat``, ``lon``, ``ssp``,
``hy`` and ``fy`` (years of the past and to come), ``co2`` ... ``bc`` (percent) and the published
temperatures ``hist``, ``base``, ``ghg``, ``aer``; where there is a ``gdiff`` it is the change of
the global mean by the aerosol change. Rows that repeat a setting count once. The published
temperatures were read half way around the globe from the named city, so places are moved
by ``--longitude-offset`` (180 by default), here and nowhere else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import get_args

from simulators.base import ArgumentError, ToolModel, validate_call
from simulators.climate.cities import City, find_city
from simulators.climate.simulator import ClimateSimulator, Version
from simulators.climate.tools import Temperature
from studies.commands import published_parser, report
from studies.published import read_parsed

LONGITUDE_OFFSET = 180.0
SAME_CITY_DEGREES = 0.5
"""A name is resolved if the city found is this close to the published coordinates."""

CHANGES = {"hist_vs_ghg": ("hist", "ghg"), "hist_vs_aerosol": ("hist", "aer")}
"""Changes of climate, from the past to a projection, by kind of question: from, to. The errors
``change_mae_degc`` and ``change_sign_accuracy`` are theirs."""

DIFFERENCES = {"base_vs_aerosol": ("base", "aer"), "ghg_vs_aerosol": ("aer", "ghg")}
"""Differences between two projections of one year. The published aerosol cases differ from the
baseline by an amount that follows scenario and year and not the change asked for
(``aerosol_evidence``), so agreement with these says nothing about either model; they are reported
apart (``intervention_...``), and together with the changes in ``all_sign_accuracy``."""

RESOLUTION_DEGC = 0.01
"""Step of the published temperatures."""

_COLUMNS = (
    *("kind", "name", "lat", "lon", "ssp", "hy", "fy"),
    *("co2", "ch4", "so2", "bc", "hist", "base", "ghg", "aer"),
)


@dataclass(frozen=True)
class Published:
    """One distinct setting."""

    kind: str
    name: str
    place: tuple[float, float] | None
    calls: Mapping[str, tuple[str, Mapping[str, object]]]
    temperatures: Mapping[str, float]
    global_change: float | None
    """Published change of the global mean by the aerosol change, degC."""


def read_published(folder: Path) -> list[Published]:
    """The distinct settings of ``folder/parsed.csv``, sorted. Raises ArgumentError."""

    def keyed(row: dict[str, str]) -> tuple[str, Published]:
        return json.dumps([row[column] for column in _COLUMNS]), _published(row)

    settings = dict(read_parsed(folder, _COLUMNS, keyed))
    return [settings[key] for key in sorted(settings)]


def validate(
    published: Sequence[Published], simulator: ClimateSimulator, offset: float
) -> dict[str, object]:
    """Mean absolute errors in degC, shares of right signs and of cities found."""
    kinds = {**CHANGES, **DIFFERENCES}
    absolute: list[float] = []
    pairs: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    located = [one for one in published if one.place is not None]
    for one in located:
        ours = _temperatures(one, simulator, offset)
        absolute += [abs(ours[name] - value) for name, value in one.temperatures.items()]
        if one.kind in kinds and all(name in ours for name in kinds[one.kind]):
            before, after = kinds[one.kind]
            theirs = one.temperatures[after] - one.temperatures[before]
            pairs[one.kind].append((ours[after] - ours[before], theirs))
    names = sorted({(one.name, one.place) for one in located})
    cities = [_city(*name) for name in names]
    changes = [pair for kind in CHANGES for pair in pairs[kind]]
    differences = [pair for kind in DIFFERENCES for pair in pairs[kind]]
    return {
        "absolute_mae_degc": _rounded(absolute),
        "change_mae_degc": _mae(changes),
        "change_sign_accuracy": _signs(changes),
        "intervention_mae_degc": _mae(differences),
        "intervention_sign_accuracy": _signs(differences),
        "all_sign_accuracy": _signs(changes + differences),
        "sign_accuracy_by_kind": {kind: _signs(found) for kind, found in pairs.items()},
        "n_by_kind": {kind: len(found) for kind, found in pairs.items()},
        "below_resolution_share_by_kind": {
            kind: _rounded([float(abs(ours) < RESOLUTION_DEGC / 2) for ours, _ in found])
            for kind, found in pairs.items()
        },
        "aerosol_evidence": aerosol_evidence(published),
        "resolved_cities_share": _rounded([float(how == "resolved") for how in cities]),
        "refused_cities_share": _rounded([float(how == "refused") for how in cities]),
        "namesake_cities_share": _rounded([float(how == "namesake") for how in cities]),
        "cities": len(cities),
        "n": len(located),
        "n_without_coordinates": len(published) - len(located),
        "longitude_offset_degrees": offset,
    }


def aerosol_evidence(published: Sequence[Published]) -> dict[str, int]:
    """Whether the published aerosol cases respond to the change asked for.

    Counts pairs of settings that share place, scenario and year and differ in their change of SO2
    or BC (mostly its sign), those of them with one temperature, and changes of the global mean,
    and those of them that are 0.
    """
    cases: dict[str, dict[tuple[object, object], float]] = {}
    for one in published:
        if "aer" in one.calls and one.place is not None:
            asked = one.calls["aer"][1]
            shared = json.dumps([one.place, asked["scenario"], asked["year"]])
            change = (asked["delta_SO2"], asked["delta_BC"])
            cases.setdefault(shared, {})[change] = one.temperatures["aer"]
    pairs = [
        abs(before - after)
        for found in cases.values()
        for before, after in combinations(found.values(), 2)
    ]
    changes = [one.global_change for one in published if one.global_change is not None]
    return {
        "pairs_of_different_changes": len(pairs),
        "pairs_with_one_temperature": sum(gap < RESOLUTION_DEGC / 2 for gap in pairs),
        "global_mean_changes": len(changes),
        "global_mean_changes_of_zero": sum(change == 0 for change in changes),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong input, 1 for a failed run."""
    parser = published_parser("studies.climate.validate", get_args(Version))
    parser.add_argument("--longitude-offset", type=float, default=LONGITUDE_OFFSET)
    given = parser.parse_args(argv)
    offset = given.longitude_offset
    simulator = ClimateSimulator(version=given.version)
    return report(
        lambda: {
            "version": given.version,
            **validate(read_published(given.dir), simulator, offset),
        }
    )


def _published(row: Mapping[str, str]) -> Published:
    place = (float(row["lat"]), float(row["lon"])) if row["lat"] and row["lon"] else None
    year = int(float(row["fy"]))
    future: dict[str, object] = {"year": year, "scenario": row["ssp"]}
    calls: dict[str, tuple[str, Mapping[str, object]]] = {}
    if row["hist"]:
        calls["hist"] = ("history_temperature", {"year": int(float(row["hy"]))})
    if row["base"]:
        calls["base"] = ("future_temperature", future)
    if row["ghg"]:
        gases = {"delta_CO2": float(row["co2"]), "delta_CH4": float(row["ch4"])}
        calls["ghg"] = ("diy_greenhouse", {**future, **gases})
    if row["aer"]:
        aerosols = {"delta_SO2": float(row["so2"]), "delta_BC": float(row["bc"])}
        calls["aer"] = ("diy_aerosol", {**future, **aerosols})
    temperatures = {name: float(row[name]) for name in calls}
    global_change = float(row["gdiff"]) if row.get("gdiff") else None
    return Published(row["kind"], row["name"], place, calls, temperatures, global_change)


def _temperatures(one: Published, simulator: ClimateSimulator, offset: float) -> dict[str, float]:
    if one.place is None:
        raise TypeError("a setting without coordinates was not left out")
    latitude, longitude = one.place
    moved = (longitude + offset + 180) % 360 - 180
    found = {}
    for name, (tool, wanted) in one.calls.items():
        call: dict[str, object] = {**wanted, "latitude": latitude, "longitude": moved}
        if tool == "diy_aerosol":
            call["modify_points"] = [[moved, latitude]]
        outputs: ToolModel = simulator.run(tool, validate_call(simulator, tool, call), 0)
        if not isinstance(outputs, Temperature):
            raise TypeError(f"{tool} gave {type(outputs).__name__}")
        found[name] = outputs.temperature_degc
    return found


def _city(name: str, place: tuple[float, float] | None) -> str:
    """Whether the name is resolved, refused with a reason, or found as another city of the name."""
    if place is None:
        raise TypeError("a setting without coordinates was not left out")
    try:
        city: City = find_city(name)
    except ArgumentError:
        return "refused"
    near = max(abs(city.latitude - place[0]), abs(city.longitude - place[1]))
    return "resolved" if near <= SAME_CITY_DEGREES else "namesake"


def _mae(pairs: Sequence[tuple[float, float]]) -> float | None:
    return _rounded([abs(ours - theirs) for ours, theirs in pairs])


def _signs(pairs: Sequence[tuple[float, float]]) -> float | None:
    return _rounded([_same_sign(*pair) for pair in pairs])


def _same_sign(ours: float, theirs: float) -> float:
    """1 where the direction agrees; both zero agree."""
    return float((ours > 0) - (ours < 0) == (theirs > 0) - (theirs < 0))


def _rounded(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


if __name__ == "__main__":
    sys.exit(main())
