"""What can be asked of the corridor, and what comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, stdev
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, create_model

from simulators.base import ToolModel, measured
from simulators.urban.runs import Measures

_SPREAD = "Standard deviation over the replicates of {}; none with one replicate."
_NO_BASE = "none where the baseline is 0"
DECIMALS = 2
"""The precision of the published records."""
MOST_REPLICATES = 20
_REPLICATES = "Runs with different seeds whose mean is reported."

MEANS = (
    *("travel_time_s", "idling_s", "distance_m"),
    *("co2_mg", "co2_per_vehicle_mg", "nox_mg", "fuel_ml"),
)
"""Measures of which both tools show the rounded mean."""


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
    replicates: int = measured("runs", _REPLICATES, default=1, ge=1, le=MOST_REPLICATES)


@lru_cache(maxsize=MOST_REPLICATES)
def interventions_with(replicates: int) -> type[Interventions]:
    """Return the arguments of a road where every call reports that many runs' mean, or more."""
    if replicates == 1:
        return Interventions

    def at_least(asked: int) -> int:
        return max(asked, replicates)

    field = measured(
        "runs", f"{_REPLICATES} Fewer are made up.", default=replicates, ge=1, le=MOST_REPLICATES
    )
    kind = Annotated[int, AfterValidator(at_least)]
    return create_model("Interventions", __base__=Interventions, replicates=(kind, field))


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


def replicate_seed(seed: int, index: int) -> int:
    """Return the seed itself for the first replicate, then numbers drawn from it by hash."""
    if index == 0:
        return seed
    digest = hashlib.sha256(f"{seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def scenario_outputs(runs: Sequence[Measures]) -> ScenarioOutputs:
    """Compute means (rounded) and standard deviations over the replicates."""
    return ScenarioOutputs(
        **{name: _mean(runs, name) for name in (*MEANS, "last_arrival_s")},
        vehicles=_vehicles(runs),
        travel_time_sd_s=_spread([run.travel_time_s for run in runs]),
        idling_sd_s=_spread([run.idling_s for run in runs]),
        co2_sd_mg=_spread([run.co2_mg for run in runs]),
    )


def comparison_outputs(
    baseline: Sequence[Measures], scenario: Sequence[Measures]
) -> ComparisonOutputs:
    """Compute both means and their changes; changes follow from the rounded means shown.

    Replicates of both are paired by seed for the spread of the changes.
    """
    shown: dict[str, float | None] = {}
    for name in MEANS:
        before, after = _mean(baseline, name), _mean(scenario, name)
        shown |= {f"baseline_{name}": before, f"scenario_{name}": after}
        if name != "distance_m":
            shown[f"{_quantity(name)}_change_percent"] = _change(before, after)
    for name in ("travel_time_s", "idling_s", "co2_mg"):
        pairs = [
            (getattr(a, name), getattr(b, name)) for a, b in zip(baseline, scenario, strict=True)
        ]
        spread = _spread([_change(before, after) for before, after in pairs])
        shown[f"{_quantity(name)}_change_sd_percent"] = spread
    before, after = _vehicles(baseline), _vehicles(scenario)
    return ComparisonOutputs.model_validate(
        {
            **shown,
            "baseline_vehicles": before,
            "scenario_vehicles": after,
            "vehicles_change_percent": _change(before, after),
        }
    )


def _mean(runs: Sequence[Measures], name: str) -> float:
    return round(fmean(getattr(run, name) for run in runs), DECIMALS)


def _vehicles(runs: Sequence[Measures]) -> int:
    return round(fmean(run.vehicles for run in runs))


def _quantity(name: str) -> str:
    """Drop the unit from a name."""
    return name.rpartition("_")[0]


def _change(before: float, after: float) -> float | None:
    """Compute a change in percent; none where there was nothing before."""
    return round((after - before) / before * 100, DECIMALS) + 0.0 if before else None  # no -0.0


def _spread(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < 2 or len(known) < len(values):
        return None
    return round(stdev(known), DECIMALS)
