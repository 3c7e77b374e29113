"""Arguments and answers of the climate tools: units, ranges, and refusals of bad input."""

from __future__ import annotations

import math

import pytest

from simulators.base import ArgumentError, ToolModel, validate_call
from simulators.climate import ClimateSimulator

BERLIN = {"latitude": 52.52, "longitude": 13.41}
FUTURE = {**BERLIN, "year": 2074, "scenario": "ssp245"}
GREENHOUSE = {**FUTURE, "delta_CO2": 20, "delta_CH4": -10}
AEROSOL = {**FUTURE, "delta_SO2": -15.0, "delta_BC": 5.0, "modify_points": [[13.41, 52.52]]}


@pytest.fixture(scope="module")
def climate() -> ClimateSimulator:
    return ClimateSimulator()


def ask(simulator: ClimateSimulator, tool: str, **arguments: object) -> ToolModel:
    return simulator.run(tool, validate_call(simulator, tool, arguments), 0)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("future_temperature", {**FUTURE, "latitude": 91.0}, "latitude"),
        ("history_temperature", {**BERLIN, "year": 1849}, "year"),
        ("history_temperature", {**BERLIN, "year": 2015}, "year"),
        ("future_temperature", {**FUTURE, "year": 2101}, "year"),
        ("future_temperature", {**FUTURE, "year": 2014}, "year"),
        ("global_temperature", {"year": 2101, "scenario": "ssp126"}, "year"),
        ("future_temperature", {**FUTURE, "scenario": "ssp999"}, "scenario"),
        ("diy_greenhouse", {**GREENHOUSE, "delta_CO2": -150.0}, "delta_CO2"),
        ("diy_greenhouse", {**GREENHOUSE, "delta_CH4": math.nan}, "delta_CH4"),
        ("diy_aerosol", {**AEROSOL, "modify_points": []}, "modify_points"),
        ("diy_aerosol", {**AEROSOL, "modify_points": [[13.4]]}, "point 1"),
        ("diy_aerosol", {**AEROSOL, "modify_points": [[52.52, 113.41]]}, "longitude"),
        ("diy_aerosol", {**AEROSOL, "modify_points": [[math.nan, 0.0]]}, "modify_points"),
        ("future_temperature", {**FUTURE, "longitude": math.nan}, "longitude"),
        ("future_temperature", {**FUTURE, "latitude": math.inf}, "latitude"),
        ("future_temperature", {**FUTURE, "city_name": "Berlin"}, "not both"),
        ("future_temperature", {"year": 2074, "scenario": "ssp245"}, "name the place"),
        ("is_land_or_sea", {"latitude": 1.0}, "name the place"),
        ("global_temperature", {"year": 2050}, "scenario is needed"),
        ("global_temperature", {"year": 1990, "scenario": "ssp126"}, "before 2015"),
        ("global_temperature", {"year": 1990, "delta_CO2": 10.0}, "begin in 2015"),
        ("future_temperature", {**FUTURE, "rain": 1}, "rain"),
        ("rainfall", {}, "no tool"),
    ],
)
def test_bad_input_is_refused_by_name(
    climate: ClimateSimulator, tool: str, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        ask(climate, tool, **arguments)


def test_city_and_its_coordinates_give_the_same(climate: ClimateSimulator) -> None:
    city = ask(climate, "query_lat_and_lon", city_name="Berlin").model_dump()
    by_name = ask(
        climate, "future_temperature", city_name="Berlin", year=2074, scenario="ssp245"
    ).model_dump()
    by_place = ask(
        climate,
        "future_temperature",
        latitude=city["latitude"],
        longitude=city["longitude"],
        year=2074,
        scenario="ssp245",
    ).model_dump()
    assert by_name.pop("place") == "Berlin, DE"
    assert by_place.pop("place") is None
    assert by_name == by_place


def test_longitudes_beyond_180_are_the_same_place(climate: ClimateSimulator) -> None:
    west = ask(climate, "history_temperature", latitude=21.31, longitude=-157.86, year=1990)
    east = ask(climate, "history_temperature", latitude=21.31, longitude=202.14, year=1990)
    assert east.model_dump() == pytest.approx(west.model_dump())


def test_change_is_the_difference_of_the_temperatures_shown(climate: ClimateSimulator) -> None:
    for tool, arguments in (("diy_greenhouse", GREENHOUSE), ("diy_aerosol", AEROSOL)):
        found = ask(climate, tool, **arguments).model_dump()
        shown = found["temperature_degc"] - found["baseline_temperature_degc"]
        assert found["change_degc"] == pytest.approx(shown, abs=1e-9)
        assert found["change_low_degc"] <= found["change_degc"] + 0.005
        assert found["change_degc"] <= found["change_high_degc"] + 0.005
        assert found["temperature_low_degc"] < found["temperature_degc"]
        assert found["temperature_degc"] < found["temperature_high_degc"]


def test_the_published_like_version_warms_less_from_a_warmer_past(
    climate: ClimateSimulator,
) -> None:
    like = ClimateSimulator(version="published-like")
    past = {**BERLIN, "year": 2000}

    def change(simulator: ClimateSimulator) -> float:
        after, before = (
            ask(simulator, "diy_greenhouse", **GREENHOUSE),
            ask(simulator, "history_temperature", **past),
        )
        return float(after.temperature_degc - before.temperature_degc)  # type: ignore[attr-defined]

    assert change(like) == pytest.approx(0.585 * change(climate), abs=0.02)
    one, other = (ask(s, "history_temperature", **past) for s in (like, climate))
    assert 0.4 < one.temperature_degc - other.temperature_degc < 0.8  # type: ignore[attr-defined]
    world = [ask(s, "global_temperature", year=2074, scenario="ssp245") for s in (like, climate)]
    assert world[0].warming_degc < 0.6 * world[1].warming_degc  # type: ignore[attr-defined]
    assert like.fingerprint() != climate.fingerprint()
    assert "low sensitivity" in like.handbook()
    assert "low sensitivity" not in climate.handbook()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"version": "newest"}, "version"),
        ({"version": "published-like", "backend": "emulator"}, "version"),
        ({"backend": "magic"}, "'magic'.*physics, emulator"),
    ],
)
def test_settings_that_are_not_there_are_refused(settings: dict[str, str], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        ClimateSimulator(**settings)  # type: ignore[arg-type]
