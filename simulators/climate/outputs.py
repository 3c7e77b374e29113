"""What comes back from the climate simulator."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simulators.base import ToolModel, measured


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
