"""What can be asked of the corridor, and what comes back."""

from __future__ import annotations

from pydantic import ConfigDict

from simulators.base import ToolModel, measured


class Interventions(ToolModel):
    """One intervention set; the defaults are the baseline."""

    model_config = ConfigDict(strict=True)

    speed_factor: float = measured(
        "ratio",
        "Speed limit as a multiple of today's; 0.77 is a cut of 23 %.",
        default=1.0,
        ge=0.3,
        le=1.5,
    )
    demand_factor: float = measured(
        "ratio",
        "Traffic demand as a multiple of today's; 1.22 is 22 % more vehicles.",
        default=1.0,
        ge=0.3,
        le=1.5,
    )
    lanes: int = measured(
        "lanes",
        "Lanes in each direction; today 2. 1 is a road diet from two lanes to one. Any other "
        "number than 2 rebuilds the junction without its traffic signal.",
        default=2,
        ge=1,
        le=3,
    )
    use_priority_junction: bool = measured(
        "-",
        "True replaces the traffic signal by a junction where the corridor has priority "
        "('green wave' priority junction).",
        default=False,
    )
    seed: int | None = measured(
        "-",
        "Seed of the drivers' randomness; none takes the seed of the run.",
        default=None,
        ge=0,
        le=2**31 - 1,
    )
    replicates: int = measured(
        "runs", "Runs with different seeds whose mean is reported.", default=1, ge=1, le=20
    )


_SPREAD = "Standard deviation over the replicates of {}; none with one replicate."
_NO_BASE = "none where the baseline is 0"


class ScenarioOutputs(ToolModel):
    """The means over replicates of one state of the road."""

    travel_time_s: float = measured("s", "Mean travel time of a vehicle.")
    idling_s: float = measured(
        "s", "Mean time a vehicle stands still, the second of its insertion included."
    )
    distance_m: float = measured("m", "Mean distance driven by a vehicle.")
    co2_mg: float = measured("mg", "CO2 emitted by all vehicles together.")
    co2_per_vehicle_mg: float = measured("mg", "CO2 emitted by the mean vehicle.")
    nox_mg: float = measured("mg", "NOx emitted by all vehicles together.")
    fuel_ml: float = measured("ml", "Petrol burnt by all vehicles together.")
    vehicles: int = measured("vehicles", "Vehicles that drove through.")
    last_arrival_s: float = measured("s", "Time at which the last vehicle leaves the road.")
    travel_time_sd_s: float | None = measured("s", _SPREAD.format("travel_time_s"))
    idling_sd_s: float | None = measured("s", _SPREAD.format("idling_s"))
    co2_sd_mg: float | None = measured("mg", _SPREAD.format("co2_mg"))


class ComparisonOutputs(ToolModel):
    """Baseline, scenario and the changes between them, in percent of the baseline."""

    baseline_travel_time_s: float = measured("s", "Mean travel time in the baseline.")
    scenario_travel_time_s: float = measured("s", "Mean travel time with the interventions.")
    travel_time_change_percent: float = measured("%", "Change of the mean travel time.")
    baseline_idling_s: float = measured(
        "s", "Mean idling time in the baseline, the second of the insertion included."
    )
    scenario_idling_s: float = measured(
        "s", "Mean idling time with the interventions, the second of the insertion included."
    )
    idling_change_percent: float | None = measured(
        "%", f"Change of the mean idling time; {_NO_BASE}."
    )
    baseline_distance_m: float = measured("m", "Mean distance in the baseline.")
    scenario_distance_m: float = measured("m", "Mean distance with the interventions.")
    baseline_co2_mg: float = measured("mg", "CO2 of all vehicles in the baseline.")
    scenario_co2_mg: float = measured("mg", "CO2 of all vehicles with the interventions.")
    co2_change_percent: float | None = measured("%", f"Change of total CO2; {_NO_BASE}.")
    baseline_co2_per_vehicle_mg: float = measured("mg", "CO2 of the mean vehicle, baseline.")
    scenario_co2_per_vehicle_mg: float = measured(
        "mg", "CO2 of the mean vehicle with the interventions."
    )
    co2_per_vehicle_change_percent: float | None = measured(
        "%", f"Change of CO2 of the mean vehicle; {_NO_BASE}."
    )
    baseline_nox_mg: float = measured("mg", "NOx of all vehicles in the baseline.")
    scenario_nox_mg: float = measured("mg", "NOx of all vehicles with the interventions.")
    nox_change_percent: float | None = measured("%", f"Change of total NOx; {_NO_BASE}.")
    baseline_fuel_ml: float = measured("ml", "Petrol burnt by all vehicles in the baseline.")
    scenario_fuel_ml: float = measured("ml", "Petrol burnt with the interventions.")
    fuel_change_percent: float | None = measured("%", f"Change of petrol burnt; {_NO_BASE}.")
    baseline_vehicles: int = measured("vehicles", "Vehicles in the baseline.")
    scenario_vehicles: int = measured("vehicles", "Vehicles with the interventions.")
    vehicles_change_percent: float = measured("%", "Change of the number of vehicles.")
    travel_time_change_sd_percent: float | None = measured(
        "%", _SPREAD.format("travel_time_change_percent")
    )
    idling_change_sd_percent: float | None = measured("%", _SPREAD.format("idling_change_percent"))
    co2_change_sd_percent: float | None = measured("%", _SPREAD.format("co2_change_percent"))
