"""What can be asked about the climate, and what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from simulators.base import Tool, ToolModel, measured

Scenario = Literal["ssp126", "ssp245", "ssp370", "ssp585"]

_PATHWAY = (
    "Shared socioeconomic pathway, from strong mitigation (ssp126) to very high emissions (ssp585)."
)
_PERCENT = (
    "in percent of the scenario's emissions, in every year from 2015 on; -12 is a cut by 12 %."
)


def _change(what: str, default: Any = ...) -> Any:
    """Declare a change of emissions, from none left to twice as much."""
    return measured("percent", f"Change of {what} {_PERCENT}", default=default, ge=-100, le=100)


class CityQuery(ToolModel):
    """A city by name."""

    model_config = ConfigDict(strict=True)

    city_name: str = Field(
        min_length=1,
        max_length=200,
        description=(
            "Name of the city, in any usual spelling; 'Name, Country' adds the country, or a state "
            "of the US."
        ),
    )


class Place(ToolModel):
    """Coordinates or a city, exactly one of the two."""

    model_config = ConfigDict(strict=True)

    latitude: float | None = measured(
        "degrees",
        "Latitude, north positive; with longitude, in the place of city_name.",
        default=None,
        ge=-90,
        le=90,
    )
    longitude: float | None = measured(
        "degrees",
        "Longitude, east positive (200 is 160 W); with latitude.",
        default=None,
        ge=-180,
        le=360,
    )
    city_name: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description=(
            "City in the place of coordinates, in any usual spelling; 'Name, Country' adds the "
            "country."
        ),
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [self.latitude is not None, self.longitude is not None]
        if self.city_name is not None and any(given):
            raise ValueError("give latitude and longitude, or city_name, not both")
        if self.city_name is None and not all(given):
            raise ValueError("name the place: give both latitude and longitude, or city_name")
        return self


class History(Place):
    """A place in a year of the past."""

    year: int = measured("year", "Calendar year of the past.", ge=1850, le=2014)


class Future(Place):
    """A place in a year to come."""

    year: int = measured("year", "Calendar year to come.", ge=2015, le=2100)
    scenario: Scenario = Field(description=_PATHWAY)


class Greenhouse(Future):
    """Changed emissions of greenhouse gases."""

    delta_CO2: float = _change("carbon dioxide (CO2) emissions")  # noqa: N815 the published name
    delta_CH4: float = _change("methane (CH4) emissions")  # noqa: N815 the published name


class Aerosol(Future):
    """Changed emissions of aerosols around points."""

    delta_SO2: float = _change("sulphur dioxide (SO2) emissions around the points,")  # noqa: N815 the published name
    delta_BC: float = _change("black carbon (BC) emissions around the points,")  # noqa: N815 the published name
    modify_points: list[list[float]] = Field(
        min_length=1,
        max_length=200,
        description=(
            "Where the emissions change: points [longitude, latitude] in degrees, longitude first; "
            "each stands for the region around it."
        ),
    )

    @model_validator(mode="after")
    def _points_on_earth(self) -> Self:
        for number, point in enumerate(self.modify_points, start=1):
            if len(point) != 2:
                raise ValueError(f"modify_points: point {number} is not [longitude, latitude]")
            longitude, latitude = point
            if not (-180 <= longitude <= 360 and -90 <= latitude <= 90):
                raise ValueError(
                    f"modify_points: point {number}, [{longitude:g}, {latitude:g}], is not on "
                    "Earth: longitude (-180 to 360) comes first, then latitude (-90 to 90)"
                )
        return self


class Global(ToolModel):
    """The whole globe in one year."""

    model_config = ConfigDict(strict=True)

    year: int = measured("year", "Calendar year.", ge=1850, le=2100)
    scenario: Scenario | None = Field(
        default=None, description=f"{_PATHWAY} Needed from 2015 on; none before."
    )
    delta_CO2: float = _change("carbon dioxide (CO2) emissions", 0.0)  # noqa: N815 the published name
    delta_CH4: float = _change("methane (CH4) emissions", 0.0)  # noqa: N815 the published name
    delta_SO2: float = _change("the world's sulphur dioxide (SO2) emissions", 0.0)  # noqa: N815 the published name
    delta_BC: float = _change("the world's black carbon (BC) emissions", 0.0)  # noqa: N815 the published name

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.year >= 2015 and self.scenario is None:
            raise ValueError("scenario is needed from 2015 on: ssp126, ssp245, ssp370 or ssp585")
        if self.year < 2015:
            if self.scenario is not None:
                raise ValueError("scenario has no meaning before 2015: leave it out")
            if any((self.delta_CO2, self.delta_CH4, self.delta_SO2, self.delta_BC)):
                raise ValueError("changes of emissions begin in 2015: leave them out before")
        return self


class CityFound(ToolModel):
    """Where a city is."""

    latitude: float = measured("degrees", "Latitude, north positive.")
    longitude: float = measured("degrees", "Longitude, east positive.")
    place: str = Field(description="The city that was taken, with its country's code.")
    population: int = measured("people", "Its people.")


class AtPlace(ToolModel):
    """The place of a result."""

    latitude: float = measured("degrees", "Latitude, north positive.")
    longitude: float = measured("degrees", "Longitude, east positive.")
    place: str | None = Field(description="The city that was taken, none for coordinates.")


class Surface(AtPlace):
    """Land or sea."""

    surface: Literal["land", "sea"] = Field(description="What the place is.")


class Temperature(AtPlace):
    """A temperature with its range."""

    temperature_degc: float = measured("degC", "Annual mean air temperature at 2 m.")
    temperature_low_degc: float = measured("degC", "Lower end of its 90 % range.")
    temperature_high_degc: float = measured("degC", "Upper end of its 90 % range.")


class ChangedTemperature(Temperature):
    """A temperature with changed emissions, and the scenario's own."""

    baseline_temperature_degc: float = measured("degC", "The scenario's own, without the change.")
    change_degc: float = measured(
        "degC", "Temperature minus baseline; positive is warming by the change."
    )
    change_low_degc: float = measured("degC", "Lower end of the change's 90 % range.")
    change_high_degc: float = measured("degC", "Upper end of the change's 90 % range.")


class AerosolTemperature(ChangedTemperature):
    """Also what the change does to the globe."""

    global_mean_change_degc: float = measured("degC", "Change of the global mean temperature.")


class AerosolDifference(AtPlace):
    """Only differences."""

    global_mean_change_degc: float = measured("degC", "Change of the global mean temperature.")
    global_mean_change_low_degc: float = measured("degC", "Lower end of its 90 % range.")
    global_mean_change_high_degc: float = measured("degC", "Upper end of its 90 % range.")
    change_degc: float = measured("degC", "Change of the local temperature.")
    change_low_degc: float = measured("degC", "Lower end of its 90 % range.")
    change_high_degc: float = measured("degC", "Upper end of its 90 % range.")


class GlobalWarming(ToolModel):
    """Global mean surface air temperature."""

    warming_degc: float = measured("degC", "Warming above the mean of 1850-1900.")
    warming_low_degc: float = measured("degC", "Lower end of its 90 % range.")
    warming_high_degc: float = measured("degC", "Upper end of its 90 % range.")
    baseline_warming_degc: float = measured("degC", "Without the changes of emissions.")
    change_degc: float = measured("degC", "Warming minus baseline.")
    change_low_degc: float = measured("degC", "Lower end of the change's 90 % range.")
    change_high_degc: float = measured("degC", "Upper end of the change's 90 % range.")


def climate_tools() -> dict[str, Tool]:
    """Make the tools by name, in the order of the handbook."""
    listed = (
        (
            "query_lat_and_lon",
            "Latitude and longitude of a city. The other tools take a city_name themselves.",
            CityQuery,
            CityFound,
        ),
        (
            "history_temperature",
            "Annual mean temperature of a place in a year from 1850 to 2014.",
            History,
            Temperature,
        ),
        (
            "future_temperature",
            "Annual mean temperature of a place in a year from 2015 to 2100 under a scenario: the "
            "baseline, without any intervention.",
            Future,
            Temperature,
        ),
        (
            "diy_greenhouse",
            "The same with changed CO2 and CH4 emissions of the whole world, beside the baseline.",
            Greenhouse,
            ChangedTemperature,
        ),
        (
            "diy_aerosol",
            "The same with changed SO2 and black carbon emissions around given points, beside the "
            "baseline.",
            Aerosol,
            AerosolTemperature,
        ),
        (
            "diff_diy_aerosol_mean",
            "Only what an aerosol change around given points does to the global mean temperature, "
            "and to that of the place.",
            Aerosol,
            AerosolDifference,
        ),
        (
            "is_land_or_sea",
            "Whether a place is on land or at sea. A named city is on land.",
            Place,
            Surface,
        ),
        (
            "global_temperature",
            "Global mean warming above 1850-1900 in a year, with changes of the whole world's "
            "emissions if any.",
            Global,
            GlobalWarming,
        ),
    )
    return {
        name: Tool(name, description, taken, given, _read("wording.j2") + _read(f"{name}.j2"))
        for name, description, taken, given in listed
    }


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
