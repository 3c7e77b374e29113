"""What can be asked of the corridor, and what comes back."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from simulators.base import ToolModel


class Interventions(ToolModel):
    """One intervention set; the defaults are the baseline."""

    model_config = ConfigDict(strict=True)

    speed_factor: float = Field(
        default=1.0,
        ge=0.3,
        le=1.5,
        description="Speed limit as a multiple of today's; 0.77 is a cut of 23 %.",
        json_schema_extra={"unit": "ratio"},
    )
    demand_factor: float = Field(
        default=1.0,
        ge=0.3,
        le=1.5,
        description="Traffic demand as a multiple of today's; 1.22 is 22 % more vehicles.",
        json_schema_extra={"unit": "ratio"},
    )
    lanes: int = Field(
        default=2,
        ge=1,
        le=3,
        description=(
            "Lanes in each direction; today 2. 1 is a road diet from two lanes to one. Any other "
            "number than 2 rebuilds the junction without its traffic signal."
        ),
        json_schema_extra={"unit": "lanes"},
    )
    use_priority_junction: bool = Field(
        default=False,
        description=(
            "True replaces the traffic signal by a junction where the corridor has priority "
            "('green wave' priority junction)."
        ),
        json_schema_extra={"unit": "-"},
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="Seed of the drivers' randomness; none takes the seed of the run.",
        json_schema_extra={"unit": "-"},
    )
    replicates: int = Field(
        default=1,
        ge=1,
        le=20,
        description="Runs with different seeds whose mean is reported.",
        json_schema_extra={"unit": "runs"},
    )


def _number(unit: str, meaning: str) -> float:
    """A measured output: its unit and meaning for the handbook."""
    field: float = Field(description=meaning, json_schema_extra={"unit": unit})
    return field


def _optional(unit: str, meaning: str) -> float | None:
    """An output that is none where it is not defined."""
    field: float | None = Field(description=meaning, json_schema_extra={"unit": unit})
    return field


_SPREAD = "Standard deviation over the replicates of {}; none with one replicate."
_NO_BASE = "none where the baseline is 0"


class ScenarioOutputs(ToolModel):
    """The means over replicates of one state of the road."""

    travel_time_s: float = _number("s", "Mean travel time of a vehicle.")
    idling_s: float = _number(
        "s", "Mean time a vehicle stands still, the second of its insertion included."
    )
    distance_m: float = _number("m", "Mean distance driven by a vehicle.")
    co2_mg: float = _number("mg", "CO2 emitted by all vehicles together.")
    co2_per_vehicle_mg: float = _number("mg", "CO2 emitted by the mean vehicle.")
    nox_mg: float = _number("mg", "NOx emitted by all vehicles together.")
    fuel_ml: float = _number("ml", "Petrol burnt by all vehicles together.")
    vehicles: int = Field(
        description="Vehicles that drove through.", json_schema_extra={"unit": "vehicles"}
    )
    last_arrival_s: float = _number("s", "Time at which the last vehicle leaves the road.")
    travel_time_sd_s: float | None = _optional("s", _SPREAD.format("travel_time_s"))
    idling_sd_s: float | None = _optional("s", _SPREAD.format("idling_s"))
    co2_sd_mg: float | None = _optional("mg", _SPREAD.format("co2_mg"))


class ComparisonOutputs(ToolModel):
    """Baseline, scenario and the changes between them, in percent of the baseline."""

    baseline_travel_time_s: float = _number("s", "Mean travel time in the baseline.")
    scenario_travel_time_s: float = _number("s", "Mean travel time with the interventions.")
    travel_time_change_percent: float = _number("%", "Change of the mean travel time.")
    baseline_idling_s: float = _number(
        "s", "Mean idling time in the baseline, the second of the insertion included."
    )
    scenario_idling_s: float = _number(
        "s", "Mean idling time with the interventions, the second of the insertion included."
    )
    idling_change_percent: float | None = _optional(
        "%", f"Change of the mean idling time; {_NO_BASE}."
    )
    baseline_distance_m: float = _number("m", "Mean distance in the baseline.")
    scenario_distance_m: float = _number("m", "Mean distance with the interventions.")
    baseline_co2_mg: float = _number("mg", "CO2 of all vehicles in the baseline.")
    scenario_co2_mg: float = _number("mg", "CO2 of all vehicles with the interventions.")
    co2_change_percent: float | None = _optional("%", f"Change of total CO2; {_NO_BASE}.")
    baseline_co2_per_vehicle_mg: float = _number("mg", "CO2 of the mean vehicle, baseline.")
    scenario_co2_per_vehicle_mg: float = _number(
        "mg", "CO2 of the mean vehicle with the interventions."
    )
    co2_per_vehicle_change_percent: float | None = _optional(
        "%", f"Change of CO2 of the mean vehicle; {_NO_BASE}."
    )
    baseline_nox_mg: float = _number("mg", "NOx of all vehicles in the baseline.")
    scenario_nox_mg: float = _number("mg", "NOx of all vehicles with the interventions.")
    nox_change_percent: float | None = _optional("%", f"Change of total NOx; {_NO_BASE}.")
    baseline_fuel_ml: float = _number("ml", "Petrol burnt by all vehicles in the baseline.")
    scenario_fuel_ml: float = _number("ml", "Petrol burnt with the interventions.")
    fuel_change_percent: float | None = _optional("%", f"Change of petrol burnt; {_NO_BASE}.")
    baseline_vehicles: int = Field(
        description="Vehicles in the baseline.", json_schema_extra={"unit": "vehicles"}
    )
    scenario_vehicles: int = Field(
        description="Vehicles with the interventions.", json_schema_extra={"unit": "vehicles"}
    )
    vehicles_change_percent: float = _number("%", "Change of the number of vehicles.")
    travel_time_change_sd_percent: float | None = _optional(
        "%", _SPREAD.format("travel_time_change_percent")
    )
    idling_change_sd_percent: float | None = _optional("%", _SPREAD.format("idling_change_percent"))
    co2_change_sd_percent: float | None = _optional("%", _SPREAD.format("co2_change_percent"))
