"""From the measures of replicates to a tool's outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from simulators.urban.interventions import ComparisonOutputs, ScenarioOutputs
from simulators.urban.measures import Measures

DECIMALS = 2
"""The precision of the published records."""


def replicate_seed(seed: int, index: int) -> int:
    """The seed itself for the first replicate, then numbers drawn from it by hash."""
    if index == 0:
        return seed
    digest = hashlib.sha256(f"{seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def scenario_outputs(runs: Sequence[Measures]) -> ScenarioOutputs:
    """Means (rounded) and standard deviations over the replicates."""
    mean = _mean(runs)
    return ScenarioOutputs(
        travel_time_s=mean.travel_time_s,
        idling_s=mean.idling_s,
        distance_m=mean.distance_m,
        co2_mg=mean.co2_mg,
        co2_per_vehicle_mg=mean.co2_per_vehicle_mg,
        nox_mg=mean.nox_mg,
        fuel_ml=mean.fuel_ml,
        vehicles=mean.vehicles,
        last_arrival_s=round(fmean(run.last_arrival_s for run in runs), DECIMALS),
        travel_time_sd_s=_spread([run.travel_time_s for run in runs]),
        idling_sd_s=_spread([run.idling_s for run in runs]),
        co2_sd_mg=_spread([run.co2_mg for run in runs]),
    )


def comparison_outputs(
    baseline: Sequence[Measures], scenario: Sequence[Measures]
) -> ComparisonOutputs:
    """Both means and their changes; changes follow from the rounded means that are shown.

    Replicates of both are paired by seed for the spread of the changes.
    """
    a, b = _mean(baseline), _mean(scenario)
    pairs = list(zip(baseline, scenario, strict=True))
    return ComparisonOutputs(
        baseline_travel_time_s=a.travel_time_s,
        scenario_travel_time_s=b.travel_time_s,
        travel_time_change_percent=_change(a.travel_time_s, b.travel_time_s),
        baseline_idling_s=a.idling_s,
        scenario_idling_s=b.idling_s,
        idling_change_percent=_change_or_none(a.idling_s, b.idling_s),
        baseline_distance_m=a.distance_m,
        scenario_distance_m=b.distance_m,
        baseline_co2_mg=a.co2_mg,
        scenario_co2_mg=b.co2_mg,
        co2_change_percent=_change_or_none(a.co2_mg, b.co2_mg),
        baseline_co2_per_vehicle_mg=a.co2_per_vehicle_mg,
        scenario_co2_per_vehicle_mg=b.co2_per_vehicle_mg,
        co2_per_vehicle_change_percent=_change_or_none(a.co2_per_vehicle_mg, b.co2_per_vehicle_mg),
        baseline_nox_mg=a.nox_mg,
        scenario_nox_mg=b.nox_mg,
        nox_change_percent=_change_or_none(a.nox_mg, b.nox_mg),
        baseline_fuel_ml=a.fuel_ml,
        scenario_fuel_ml=b.fuel_ml,
        fuel_change_percent=_change_or_none(a.fuel_ml, b.fuel_ml),
        baseline_vehicles=a.vehicles,
        scenario_vehicles=b.vehicles,
        vehicles_change_percent=_change(a.vehicles, b.vehicles),
        travel_time_change_sd_percent=_spread(
            [_change_or_none(x.travel_time_s, y.travel_time_s) for x, y in pairs]
        ),
        idling_change_sd_percent=_spread(
            [_change_or_none(x.idling_s, y.idling_s) for x, y in pairs]
        ),
        co2_change_sd_percent=_spread([_change_or_none(x.co2_mg, y.co2_mg) for x, y in pairs]),
    )


@dataclass(frozen=True)
class _Mean:
    """Rounded means over replicates; units as in Measures."""

    travel_time_s: float
    idling_s: float
    distance_m: float
    co2_mg: float
    co2_per_vehicle_mg: float
    nox_mg: float
    fuel_ml: float
    vehicles: int


def _mean(runs: Sequence[Measures]) -> _Mean:
    return _Mean(
        travel_time_s=round(fmean(run.travel_time_s for run in runs), DECIMALS),
        idling_s=round(fmean(run.idling_s for run in runs), DECIMALS),
        distance_m=round(fmean(run.distance_m for run in runs), DECIMALS),
        co2_mg=round(fmean(run.co2_mg for run in runs), DECIMALS),
        co2_per_vehicle_mg=round(fmean(run.co2_per_vehicle_mg for run in runs), DECIMALS),
        nox_mg=round(fmean(run.nox_mg for run in runs), DECIMALS),
        fuel_ml=round(fmean(run.fuel_ml for run in runs), DECIMALS),
        vehicles=round(fmean(run.vehicles for run in runs)),
    )


def _change(before: float, after: float) -> float:
    return round((after - before) / before * 100, DECIMALS) + 0.0  # no negative zero


def _change_or_none(before: float, after: float) -> float | None:
    return _change(before, after) if before else None


def _spread(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < 2 or len(known) < len(values):
        return None
    return round(stdev(known), DECIMALS)
