"""From the measures of replicates to a tool's outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import fmean, stdev

from simulators.urban.interventions import ComparisonOutputs, ScenarioOutputs
from simulators.urban.measures import Measures

DECIMALS = 2
"""The precision of the published records."""

MEANS = (
    *("travel_time_s", "idling_s", "distance_m"),
    *("co2_mg", "co2_per_vehicle_mg", "nox_mg", "fuel_ml"),
)
"""Measures of which both tools show the rounded mean."""


def replicate_seed(seed: int, index: int) -> int:
    """The seed itself for the first replicate, then numbers drawn from it by hash."""
    if index == 0:
        return seed
    digest = hashlib.sha256(f"{seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def scenario_outputs(runs: Sequence[Measures]) -> ScenarioOutputs:
    """Means (rounded) and standard deviations over the replicates."""
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
    """Both means and their changes; changes follow from the rounded means that are shown.

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
    """The name without its unit."""
    return name.rpartition("_")[0]


def _change(before: float, after: float) -> float | None:
    """In percent; none where there was nothing before."""
    return round((after - before) / before * 100, DECIMALS) + 0.0 if before else None  # no -0.0


def _spread(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < 2 or len(known) < len(values):
        return None
    return round(stdev(known), DECIMALS)
