"""From validated arguments to outputs: one function a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.base import ToolModel
from simulators.climate import temperature as many
from simulators.climate.arguments import (
    Aerosol,
    CityQuery,
    Future,
    Global,
    Greenhouse,
    History,
    Place,
)
from simulators.climate.cities import find_city
from simulators.climate.outputs import (
    AerosolDifference,
    AerosolTemperature,
    ChangedTemperature,
    CityFound,
    GlobalWarming,
    Surface,
    Temperature,
)
from simulators.climate.temperature import Projections
from simulators.climate.warming import SCENARIOS

DECIMALS = 2
AEROSOL_DECIMALS = 3
"""Local aerosol effects are hundredths of a degree."""
GLOBAL_AEROSOL_DECIMALS = 4


@dataclass(frozen=True)
class Located:
    """Coordinates, and the city's label where one was named (which is then on land)."""

    latitude: float
    longitude: float
    place: str | None

    @property
    def land(self) -> bool | None:
        """True for a city, none where the land mask decides."""
        return None if self.place is None else True


def locate(arguments: Place) -> Located:
    """The place asked for. Longitudes come back as -180 to 180."""
    if arguments.city_name is not None:
        city = find_city(arguments.city_name)
        return Located(city.latitude, city.longitude, city.label)
    latitude, longitude = arguments.latitude, arguments.longitude
    if latitude is None or longitude is None:
        raise TypeError("arguments were not validated: no place")
    return Located(latitude, longitude - 360 if longitude > 180 else longitude, None)


def city(arguments: CityQuery) -> CityFound:
    """``query_lat_and_lon``."""
    found = find_city(arguments.city_name)
    return CityFound(
        latitude=found.latitude,
        longitude=found.longitude,
        place=found.label,
        population=found.population,
    )


def surface(arguments: Place) -> Surface:
    """``is_land_or_sea``."""
    at = locate(arguments)
    land = at.land or bool(many.is_land(at.latitude, at.longitude)[0])
    return Surface(
        latitude=at.latitude,
        longitude=at.longitude,
        place=at.place,
        surface="land" if land else "sea",
    )


def history(arguments: History) -> Temperature:
    """``history_temperature``."""
    at = locate(arguments)
    found = many.history_temperature(at.latitude, at.longitude, arguments.year, at.land)
    return _temperature(at, found)


def future(arguments: Future, projections: Projections) -> Temperature:
    """``future_temperature``."""
    at = locate(arguments)
    found = projections.future_temperature(
        at.latitude, at.longitude, arguments.year, arguments.scenario, at.land
    )
    return _temperature(at, found)


def greenhouse(arguments: Greenhouse, projections: Projections) -> ChangedTemperature:
    """``diy_greenhouse``."""
    at = locate(arguments)
    found = projections.diy_greenhouse(
        at.latitude,
        at.longitude,
        arguments.year,
        arguments.scenario,
        delta_co2=arguments.delta_CO2,
        delta_ch4=arguments.delta_CH4,
        land=at.land,
    )
    return ChangedTemperature(**_changed(at, found, DECIMALS))


def aerosol(arguments: Aerosol, projections: Projections) -> AerosolTemperature:
    """``diy_aerosol``."""
    at = locate(arguments)
    found = _aerosol(at, arguments, projections)
    return AerosolTemperature(
        **_changed(at, found, AEROSOL_DECIMALS),
        global_mean_change_degc=_round(found.global_change.mean[0], GLOBAL_AEROSOL_DECIMALS),
    )


def aerosol_difference(arguments: Aerosol, projections: Projections) -> AerosolDifference:
    """``diff_diy_aerosol_mean``."""
    at = locate(arguments)
    found = _aerosol(at, arguments, projections)
    shown = _changed(at, found, AEROSOL_DECIMALS)
    whole, digits = found.global_change, GLOBAL_AEROSOL_DECIMALS
    kept = ("latitude", "longitude", "place", "change_degc", "change_low_degc", "change_high_degc")
    return AerosolDifference(
        **{name: shown[name] for name in kept},
        global_mean_change_degc=_round(whole.mean[0], digits),
        global_mean_change_low_degc=_round(whole.low[0], digits),
        global_mean_change_high_degc=_round(whole.high[0], digits),
    )


def global_warming(arguments: Global) -> GlobalWarming:
    """``global_temperature``."""
    found = many.global_temperature(
        arguments.year,
        arguments.scenario or SCENARIOS[0],
        delta_co2=arguments.delta_CO2,
        delta_ch4=arguments.delta_CH4,
        delta_so2=arguments.delta_SO2,
        delta_bc=arguments.delta_BC,
    )
    after = _round(found.temperature.mean[0], DECIMALS)
    before = _round(found.baseline.mean[0], DECIMALS)
    return GlobalWarming(
        warming_degc=after,
        warming_low_degc=_round(found.temperature.low[0], DECIMALS),
        warming_high_degc=_round(found.temperature.high[0], DECIMALS),
        baseline_warming_degc=before,
        change_degc=_round(after - before, DECIMALS),
        change_low_degc=_round(found.change.low[0], DECIMALS),
        change_high_degc=_round(found.change.high[0], DECIMALS),
    )


PROJECTED: Mapping[str, Callable[[Any, Projections], ToolModel]] = {
    "future_temperature": future,
    "diy_greenhouse": greenhouse,
    "diy_aerosol": aerosol,
    "diff_diy_aerosol_mean": aerosol_difference,
}
"""Tools that the physics or the emulator answer."""

KNOWN: Mapping[str, Callable[[Any], ToolModel]] = {
    "query_lat_and_lon": city,
    "history_temperature": history,
    "is_land_or_sea": surface,
    "global_temperature": global_warming,
}
"""Tools that the physics always answer."""


def answer(tool: str, arguments: ToolModel, *, by_emulator: bool) -> ToolModel:
    """The outputs of a tool for its validated arguments."""
    if tool in KNOWN:
        return KNOWN[tool](arguments)
    if not by_emulator:
        return PROJECTED[tool](arguments, many.PHYSICS)
    from simulators.climate.emulator import emulator

    return PROJECTED[tool](arguments, emulator())


def _aerosol(at: Located, arguments: Aerosol, projections: Projections) -> many.Changed:
    return projections.diy_aerosol(
        at.latitude,
        at.longitude,
        arguments.year,
        arguments.scenario,
        delta_so2=arguments.delta_SO2,
        delta_bc=arguments.delta_BC,
        modify_points=arguments.modify_points,
        land=at.land,
    )


def _temperature(at: Located, found: many.Estimate) -> Temperature:
    return Temperature(
        latitude=at.latitude,
        longitude=at.longitude,
        place=at.place,
        temperature_degc=_round(found.mean[0], DECIMALS),
        temperature_low_degc=_round(found.low[0], DECIMALS),
        temperature_high_degc=_round(found.high[0], DECIMALS),
    )


def _changed(at: Located, found: many.Changed, digits: int) -> dict[str, float | str | None]:
    """Fields of a changed temperature; the change is that of the rounded temperatures shown."""
    after = _round(found.temperature.mean[0], digits)
    before = _round(found.baseline.mean[0], digits)
    return {
        "latitude": at.latitude,
        "longitude": at.longitude,
        "place": at.place,
        "temperature_degc": after,
        "temperature_low_degc": _round(found.temperature.low[0], digits),
        "temperature_high_degc": _round(found.temperature.high[0], digits),
        "baseline_temperature_degc": before,
        "change_degc": _round(after - before, digits),
        "change_low_degc": _round(found.change.low[0], digits),
        "change_high_degc": _round(found.change.high[0], digits),
    }


def _round(value: float, digits: int) -> float:
    """Rounded; never minus zero."""
    return round(float(value), digits) + 0.0
