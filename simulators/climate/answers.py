"""From validated arguments to outputs: one function a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.base import MissingEngineError, ToolModel
from simulators.climate import temperature
from simulators.climate.cities import find_city
from simulators.climate.temperature import Physics, Projections
from simulators.climate.tools import (
    Aerosol,
    AerosolDifference,
    AerosolTemperature,
    ChangedTemperature,
    CityFound,
    CityQuery,
    Future,
    Global,
    GlobalWarming,
    Greenhouse,
    History,
    Place,
    Surface,
    Temperature,
)
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
    """Find the place asked for. Longitudes come back as -180 to 180."""
    if arguments.city_name is not None:
        city = find_city(arguments.city_name)
        return Located(city.latitude, city.longitude, city.label)
    latitude, longitude = arguments.latitude, arguments.longitude
    if latitude is None or longitude is None:
        raise TypeError("arguments were not validated: no place")
    return Located(latitude, longitude - 360 if longitude > 180 else longitude, None)


def city(arguments: CityQuery, _: Physics) -> CityFound:
    """Answer ``query_lat_and_lon``."""
    place = find_city(arguments.city_name)
    return CityFound(
        latitude=place.latitude,
        longitude=place.longitude,
        place=place.label,
        population=place.population,
    )


def surface(arguments: Place, _: Physics) -> Surface:
    """Answer ``is_land_or_sea``."""
    at = locate(arguments)
    land = at.land or bool(temperature.is_land(at.latitude, at.longitude)[0])
    return Surface.model_validate({**_place(at), "surface": "land" if land else "sea"})


def history(arguments: History, physics: Physics) -> Temperature:
    """Answer ``history_temperature``."""
    at = locate(arguments)
    estimate = physics.history_temperature(at.latitude, at.longitude, arguments.year, at.land)
    return _temperature(at, estimate)


def future(arguments: Future, projections: Projections) -> Temperature:
    """Answer ``future_temperature``."""
    at = locate(arguments)
    estimate = projections.future_temperature(
        at.latitude, at.longitude, arguments.year, arguments.scenario, at.land
    )
    return _temperature(at, estimate)


def greenhouse(arguments: Greenhouse, projections: Projections) -> ChangedTemperature:
    """Answer ``diy_greenhouse``."""
    at = locate(arguments)
    changed = projections.diy_greenhouse(
        at.latitude,
        at.longitude,
        arguments.year,
        arguments.scenario,
        delta_co2=arguments.delta_CO2,
        delta_ch4=arguments.delta_CH4,
        land=at.land,
    )
    return ChangedTemperature.model_validate(_changed(at, changed, DECIMALS))


def aerosol(arguments: Aerosol, projections: Projections) -> AerosolTemperature:
    """Answer ``diy_aerosol``."""
    at = locate(arguments)
    changed = _aerosol(at, arguments, projections)
    whole = _round(changed.global_change.mean[0], GLOBAL_AEROSOL_DECIMALS)
    shown = _changed(at, changed, AEROSOL_DECIMALS)
    return AerosolTemperature.model_validate({**shown, "global_mean_change_degc": whole})


def aerosol_difference(arguments: Aerosol, projections: Projections) -> AerosolDifference:
    """Answer ``diff_diy_aerosol_mean``."""
    at = locate(arguments)
    changed = _aerosol(at, arguments, projections)
    shown = _changed(at, changed, AEROSOL_DECIMALS)
    kept = {name: value for name, value in shown.items() if "temperature" not in name}
    whole = _range("global_mean_change", changed.global_change, GLOBAL_AEROSOL_DECIMALS)
    return AerosolDifference.model_validate(kept | whole)


def global_warming(arguments: Global, physics: Physics) -> GlobalWarming:
    """Answer ``global_temperature``."""
    changed = temperature.global_temperature(
        arguments.year,
        arguments.scenario or SCENARIOS[0],
        delta_co2=arguments.delta_CO2,
        delta_ch4=arguments.delta_CH4,
        delta_so2=arguments.delta_SO2,
        delta_bc=arguments.delta_BC,
        sensitivity=physics.sensitivity,
    )
    before = _round(changed.baseline.mean[0], DECIMALS)
    shown = _range("warming", changed.temperature, DECIMALS) | _range(
        "change", changed.change, DECIMALS
    )
    change = _round(shown["warming_degc"] - before, DECIMALS)
    return GlobalWarming(**{**shown, "baseline_warming_degc": before, "change_degc": change})


PROJECTED: Mapping[str, Callable[[Any, Projections], ToolModel]] = {
    "future_temperature": future,
    "diy_greenhouse": greenhouse,
    "diy_aerosol": aerosol,
    "diff_diy_aerosol_mean": aerosol_difference,
}
"""Tools that the physics or the emulator answer."""

KNOWN: Mapping[str, Callable[[Any, Physics], ToolModel]] = {
    "query_lat_and_lon": city,
    "history_temperature": history,
    "is_land_or_sea": surface,
    "global_temperature": global_warming,
}
"""Tools that the physics always answer."""


def answer(
    tool: str, arguments: ToolModel, *, by_emulator: bool = False, published_like: bool = False
) -> ToolModel:
    """Run a tool with its validated arguments."""
    physics = temperature.PUBLISHED_LIKE if published_like else temperature.PHYSICS
    if tool in KNOWN:
        return KNOWN[tool](arguments, physics)
    if not by_emulator:
        return PROJECTED[tool](arguments, physics)
    try:
        from simulators.climate.emulator import emulator
    except ImportError as error:
        raise MissingEngineError(f"the emulator needs torch: {error}") from None
    return PROJECTED[tool](arguments, emulator())


def _aerosol(at: Located, arguments: Aerosol, projections: Projections) -> temperature.Changed:
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


def _temperature(at: Located, estimate: temperature.Estimate) -> Temperature:
    return Temperature.model_validate(_place(at) | _range("temperature", estimate, DECIMALS))


def _changed(
    at: Located, changed: temperature.Changed, digits: int
) -> dict[str, float | str | None]:
    """Write a changed temperature's fields; the change is that of the rounded values shown."""
    shown = _range("temperature", changed.temperature, digits) | _range(
        "change", changed.change, digits
    )
    before = _round(changed.baseline.mean[0], digits)
    shown["change_degc"] = _round(shown["temperature_degc"] - before, digits)
    return {**_place(at), **shown, "baseline_temperature_degc": before}


def _place(at: Located) -> dict[str, float | str | None]:
    return {"latitude": at.latitude, "longitude": at.longitude, "place": at.place}


def _range(name: str, estimate: temperature.Estimate, digits: int) -> dict[str, float]:
    """Write the fields of a mean and its range."""
    ends = {
        f"{name}_degc": estimate.mean,
        f"{name}_low_degc": estimate.low,
        f"{name}_high_degc": estimate.high,
    }
    return {field: _round(values[0], digits) for field, values in ends.items()}


def _round(value: float, digits: int) -> float:
    """Round, and never to minus zero."""
    return round(float(value), digits) + 0.0
