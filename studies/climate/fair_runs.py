"""Runs of the FaIR climate model with the committed members: used to make assets, not at run time.

FaIR 2 (Leach et al. 2021, doi:10.5194/gmd-14-3007-2021) is driven by the RCMIP emissions of the SSP
scenarios (Nicholls et al. 2020, doi:10.5194/gmd-13-5175-2020) and their solar and volcanic forcing.
Parameters are the first members of the calibrated and constrained ensemble 1.4.1 (Smith et al.
2024, doi:10.5194/gmd-17-8569-2024), which samples the IPCC AR6 assessment: 29 of 30 of 841.
Member 5859 is left out: its cloud response to black carbon is singular where emissions end.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.climate.fields import ASSETS
from simulators.climate.warming import CHANGE_FROM, FIRST_YEAR, LAST_YEAR

Array = NDArray[np.float64]
Emissions = Mapping[str, Mapping[str, Array]]
"""Per gas and scenario: emissions of shape (years, members)."""

MEMBERS = ASSETS / "fair_members.csv"
EMISSIONS = "fair/SSPs/data/rcmip-emissions-annual-means-5-1-0-ssp-only.csv"
CONCENTRATIONS = "fair/SSPs/data/rcmip-concentrations-annual-means-5-1-0-ssp-only.csv"
FORCING = "fair/SSPs/data/rcmip-radiative-forcing-annual-means-5-1-0-ssp-only.csv"
RUN_FROM = 1750
"""First year of a run."""

CHANGED_GASES = ("CO2", "CH4")

MINOR = "minor greenhouse gases"
"""Name of the one forcing scale that all halogenated gases share in the calibration."""

DROPPED = ("Halon-1202", "NOx aviation", "Contrails")
"""Species that the calibration leaves out (aircraft NOx is part of NOx)."""

SPECIES_OVERRIDES: Mapping[str, Mapping[str, float]] = {
    "CO2 AFOLU": {"land_use_cumulative_emissions_to_forcing": -0.000222468},
    "CH4": {
        "unperturbed_lifetime0": 16.78837799,
        "unperturbed_lifetime1": 16.78837799,
        "unperturbed_lifetime2": 16.78837799,
        "unperturbed_lifetime3": 16.78837799,
        "baseline_emissions": 38.246272,
        "ch4_lifetime_chemical_sensitivity": 0.000167283,
        "lifetime_temperature_sensitivity": -0.0463,
        "h2o_stratospheric_factor": 4.40e-05,
    },
    "N2O": {"baseline_emissions": 1.00046404, "ch4_lifetime_chemical_sensitivity": -0.000949891},
    "NOx": {"ch4_lifetime_chemical_sensitivity": -0.0034188},
    "VOC": {"ch4_lifetime_chemical_sensitivity": 0.00019837},
    "Equivalent effective stratospheric chlorine": {
        "ch4_lifetime_chemical_sensitivity": 2.53e-05,
        "baseline_concentration": 344.3627591,
    },
    "BC": {"lapsi_radiative_efficiency": 0.01407193},
    "Volcanic": {"forcing_efficacy": 0.6},
}
"""Where the calibration's species table differs from FaIR's own and it matters here."""

_RCMIP = {
    "CO2 FFI": "CO2|MAGICC Fossil and Industrial",
    "CO2 AFOLU": "CO2|MAGICC AFOLU",
    "Halon-1211": "Halon1211",
    "Halon-1301": "Halon1301",
    "Halon-2402": "Halon2402",
    "c-C4F8": "cC4F8",
}
_TO_FAIR = {"Gt CO2/yr": 1e-3, "Mt N2O/yr": 1e-3}
"""RCMIP has CO2 in Mt and N2O in kt; all other units are FaIR's."""


@dataclass(frozen=True)
class Case:
    """One scenario and the change in its emissions from 2015 on, in percent."""

    scenario: str
    co2: float = 0.0
    ch4: float = 0.0
    so2: float = 0.0
    bc: float = 0.0


def global_temperature(cases: Sequence[Case], wheels: Path) -> Array:
    """Surface temperature above 1850-1900 in degC, shape (years 1850-2100, cases, members).

    ``wheels`` holds the unpacked package fair 1.6.4. Values are calendar-year means: the mean of
    FaIR's two time bounds of the year. CO2 and CH4 are driven by the emissions that make each
    member follow the scenario's concentrations (as the models behind IPCC AR6 do). A change is
    percent of these, so that a cut by 100 % leaves none: sinks of the members are stronger than
    those behind the scenarios' concentrations, and the tabulated emissions would leave a rest.
    """
    model = _run(cases, wheels, _compatible([case.scenario for case in cases], wheels))
    bounds = np.asarray(model.temperature.sel(layer=0).data)
    years = (bounds[:-1] + bounds[1:]) / 2
    start = FIRST_YEAR - RUN_FROM
    reference = years[start : start + 51].mean(axis=0)
    return np.asarray(years[start : LAST_YEAR - RUN_FROM + 1] - reference)


def emitted_co2(scenarios: Sequence[str], wheels: Path) -> Array:
    """CO2 that each member emits in 2015-2100, GtCO2 (land use included), (scenarios, members)."""
    series = _compatible(scenarios, wheels)["CO2"]
    start, end = CHANGE_FROM - RUN_FROM, LAST_YEAR - RUN_FROM + 1
    return np.stack([series[name][start:end].sum(axis=0) for name in scenarios])


def world_emissions(scenario: str, wheels: Path) -> Array:
    """Tabulated (RCMIP) emissions of 1850-2100: (years, 4): CO2 in Gt, CH4, SO2 and BC in Mt."""
    table = _rcmip(wheels / EMISSIONS, scenario)
    fossil, land = (_series(table, "Emissions", name) for name in ("CO2 FFI", "CO2 AFOLU"))
    others = [_series(table, "Emissions", name) for name in ("CH4", "Sulfur", "BC")]
    return np.stack([(fossil + land) / 1000, *others], axis=-1)[FIRST_YEAR - RUN_FROM :]


def _compatible(scenarios: Sequence[str], wheels: Path) -> Emissions:
    """Emissions of CO2 and CH4 with which each member follows the scenario's concentrations."""
    names = sorted(set(scenarios))
    followed = _run([Case(name) for name in names], wheels, None)
    return {
        gas: {
            name: np.asarray(followed.emissions.sel(specie=gas, scenario=str(number)).data)
            for number, name in enumerate(names)
        }
        for gas in CHANGED_GASES
    }


def _run(cases: Sequence[Case], wheels: Path, compatible: Emissions | None) -> Any:
    """A finished FaIR model; without ``compatible`` emissions CO2 and CH4 follow concentrations."""
    from fair import FAIR
    from fair.interface import initialise
    from fair.io import read_properties

    members = read_members()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "species.csv"
        _write_species(table)
        species, properties = read_properties(str(table))
        for specie, given in properties.items():
            if given["type"] in _HALOGENS or specie == "N2O":
                given["input_mode"] = "concentration"
            if compatible is None and specie in CHANGED_GASES:
                given["input_mode"] = "concentration"
        model: Any = FAIR(ch4_method="thornhill2021")
        model.define_time(RUN_FROM, LAST_YEAR + 1, 1)
        model.define_scenarios([str(number) for number in range(len(cases))])
        model.define_configs([row["member"] for row in members])
        model.define_species(species, properties)
        model.allocate()
        model.fill_species_configs(str(table))
    _fill_members(model, members)
    _fill_drivers(model, cases, wheels, compatible)
    gases = [
        specie
        for specie in model.species
        if model.properties_df.loc[specie, "greenhouse_gas"]
        and model.properties_df.loc[specie, "input_mode"] != "concentration"
    ]
    baseline = model.species_configs["baseline_concentration"]
    for gas in gases:
        initialise(model.concentration, baseline.sel(specie=gas), specie=gas)
    carried = ("forcing", "temperature", "cumulative_emissions", "airborne_emissions")
    for name in (*carried, "ocean_heat_content_change"):
        initialise(getattr(model, name), 0)
    model.run(progress=False, suppress_warnings=True)
    return model


def read_members() -> list[dict[str, str]]:
    """The committed members, one dictionary a row."""
    return list(csv.DictReader(MEMBERS.read_text(encoding="utf-8").splitlines()))


def _write_species(path: Path) -> None:
    """FaIR's own species table with the calibration's differences, without dropped species."""
    from fair.structure.units import DEFAULT_PROPERTIES_FILE

    with Path(DEFAULT_PROPERTIES_FILE).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = list(reader.fieldnames or []), list(reader)
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        for row in rows:
            if row["name"] not in DROPPED:
                changes = SPECIES_OVERRIDES.get(row["name"], {})
                writer.writerow({**row, **{key: str(value) for key, value in changes.items()}})


def _fill_drivers(
    model: Any, cases: Sequence[Case], wheels: Path, compatible: Emissions | None
) -> None:
    """Emissions, concentrations, solar and volcanic forcing of each case."""
    from fair.structure.units import desired_emissions_units

    changed_from = CHANGE_FROM - RUN_FROM
    modes = model.properties_df["input_mode"]
    scale = {
        natural: np.array([float(row[f"forcing_scale:{natural}"]) for row in read_members()])
        for natural in ("Solar", "Volcanic")
    }
    scenarios = {case.scenario for case in cases}
    emissions = {name: _rcmip(wheels / EMISSIONS, name) for name in scenarios}
    concentrations = {name: _rcmip(wheels / CONCENTRATIONS, name) for name in scenarios}
    forcings = {name: _rcmip(wheels / FORCING, name) for name in scenarios}
    for number, case in enumerate(cases):
        percent = {
            "CO2 FFI": case.co2,
            "CO2 AFOLU": case.co2,
            "CH4": case.ch4,
            "Sulfur": case.so2,
            "BC": case.bc,
        }
        for specie in model.species:
            where = {"scenario": str(number), "specie": specie}
            if modes[specie] == "emissions":
                own = _series(emissions[case.scenario], "Emissions", specie)
                own = own * _TO_FAIR.get(desired_emissions_units[specie], 1.0)
                factor = np.ones_like(own)
                factor[changed_from:] += percent.get(specie, 0.0) / 100
                if compatible is not None and specie == "CH4":
                    base = compatible["CH4"][case.scenario]
                elif compatible is not None and specie == "CO2 FFI":
                    land = _series(emissions[case.scenario], "Emissions", "CO2 AFOLU")
                    base = compatible["CO2"][case.scenario] - land[:, None] / 1000
                else:
                    base = own[:, None]
                model.emissions.loc[where] = base * factor[:, None]
            elif modes[specie] == "concentration":
                yearly = _series(
                    concentrations[case.scenario], "Atmospheric Concentrations", specie
                )
                model.concentration.loc[where] = _bounds(yearly)[:, None]
            elif modes[specie] == "forcing":
                yearly = forcings[case.scenario][f"Effective Radiative Forcing|Natural|{specie}"]
                model.forcing.loc[where] = _bounds(yearly)[:, None] * scale[specie][None, :]


def _fill_members(model: Any, members: Sequence[Mapping[str, str]]) -> None:
    """Energy balance and species parameters of each member."""
    for number, row in enumerate(members):
        config = row["member"]
        for name in ("ocean_heat_capacity", "ocean_heat_transfer"):
            values = [float(row[f"{name}_{layer}"]) for layer in range(3)]
            model.climate_configs[name].loc[{"config": config}] = values
        for name in ("deep_ocean_efficacy", "forcing_4co2"):
            model.climate_configs[name].loc[{"config": config}] = float(row[name])
        for key, value in row.items():
            parameter, _, specie = key.partition(":")
            if parameter == "aci_scale":
                model.species_configs[parameter][number] = float(value)
            elif specie == MINOR:
                for gas in model.species:
                    if model.properties_df.loc[gas, "type"] in _HALOGENS:
                        _set(model, "forcing_scale", config, gas, float(value))
            elif specie and specie not in ("Solar", "Volcanic"):
                _set(model, parameter, config, specie, float(value))
        for specie in ("Sulfur", "BC", "OC"):
            _set(model, "aci_shape", config, specie, float(row[f"aci_shape:{specie}"]))


_HALOGENS = ("cfc-11", "other halogen", "f-gas")


def _set(model: Any, parameter: str, config: str, specie: str, value: float) -> None:
    model.species_configs[parameter].loc[{"config": config, "specie": specie}] = value


def _rcmip(path: Path, scenario: str) -> dict[str, Array]:
    """World series 1750-2100 by variable; gaps are filled linearly."""
    years, series = [str(year) for year in range(RUN_FROM, LAST_YEAR + 1)], {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["Scenario"] == scenario and row["Region"] == "World":
                given = np.array([float(row[year] or "nan") for year in years])
                known = np.flatnonzero(~np.isnan(given))
                series[row["Variable"]] = np.interp(np.arange(len(given)), known, given[known])
    return series


def _series(table: Mapping[str, Array], kind: str, specie: str) -> Array:
    wanted = _RCMIP.get(specie, specie.replace("-", ""))
    for variable, series in table.items():
        if variable == f"{kind}|{wanted}" or variable.endswith(f"|{wanted}"):
            return series
    raise KeyError(f"the RCMIP table of {kind} has no '{wanted}' for FaIR's {specie}")


def _bounds(yearly: Array) -> Array:
    """Values at the bounds of years from yearly means: the mean of the neighbouring years."""
    padded = np.concatenate([yearly[:1], yearly, yearly[-1:]])
    return np.asarray((padded[:-1] + padded[1:]) / 2)
