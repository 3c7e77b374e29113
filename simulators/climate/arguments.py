"""What can be asked about the climate."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from simulators.base import ToolModel, measured

Scenario = Literal["ssp126", "ssp245", "ssp370", "ssp585"]

_PATHWAY = (
    "Shared socioeconomic pathway, from strong mitigation (ssp126) to very high emissions (ssp585)."
)
_PERCENT = (
    "in percent of the scenario's emissions, in every year from 2015 on; -12 is a cut by 12 %."
)


def _change(what: str, default: Any = ...) -> Any:
    """A change of emissions, from none left to twice as much."""
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
