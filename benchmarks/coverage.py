"""Whether ranges hold what they say: the share of fresh runs inside the 90 % range, by simulator.

Urban: fresh seeds of SUMO. Epidemiology: further members of the same ensemble. Climate: drawn
members of FaIR, patterns and years' weather. Outputs that never vary are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from statistics import fmean
from typing import Any

from benchmarks.figures import Figure
from simulators.base import Simulator, validate_call
from simulators.registry import load

FRESH_SEEDS = 10
FRESH_MEMBERS = 40
FRESH_YEARS = 400


def coverage() -> Iterator[Figure]:
    """The share inside, by simulator, over outputs, scenarios and fresh runs."""
    yield from _of("urban", _urban())
    for members in (20, 100):
        yield from _of(f"epidemiology_{members}_members", _epidemiology(members, spread=True))
    yield from _of("epidemiology_peak_without_the_setting", _epidemiology(20, spread=False))
    yield from _of("climate", _climate())


def _of(name: str, inside: Iterator[bool]) -> Iterator[Figure]:
    found = list(inside)
    yield f"coverage_{name}", fmean(found), "share", len(found)


def _run(simulator: Simulator, tool: str, arguments: dict[str, Any], seed: int) -> dict[str, Any]:
    validated = validate_call(simulator, tool, arguments)
    found: dict[str, Any] = simulator.run(tool, validated, seed).model_dump()
    return found


def _urban() -> Iterator[bool]:
    tool, ranged, plain = "compare_with_baseline", load("urban", {"spread": True}), load("urban")
    for place, changes in enumerate(({"speed_factor": 0.8}, {"demand_factor": 1.2}, {"lanes": 1})):
        ends = _run(ranged, tool, changes, place)
        for seed in range(1000, 1000 + FRESH_SEEDS):
            fresh = _run(plain, tool, changes, seed)
            for name, spread in ranged.tools[tool].spreads.items():
                low, high = ends[spread.low], ends[spread.high]
                if low is not None and low < high:
                    yield low <= fresh[name] <= high


def _epidemiology(members: int, *, spread: bool) -> Iterator[bool]:
    from simulators.epidemiology.ensemble import Conditions, run_ensemble
    from simulators.epidemiology.places import load_places
    from simulators.epidemiology.summary import by_member

    simulator = load("epidemiology", {"members": members, "spread": spread})
    names = {"peak_median": ("peak_lower_90", "peak_upper_90")}
    if spread:
        spreads = simulator.tools["forecast"].spreads
        names = {name: (one.low, one.high) for name, one in spreads.items() if one.low}
    chosen = [load_places().names.index("Ohio")]
    for r0 in (1.4, 1.8, 2.4):
        asked = {"states": ["Ohio"], "start_date": "2022-10-05", "r0": r0, "seasonality": "none"}
        asked |= {"prior_immunity_percent": 30, "metric": "hospital incidence"}
        start = date(2022, 10, 5)
        conditions = Conditions(
            start=start, r0=r0, prior_immunity_percent=30, metric="hospital incidence"
        )
        for seed in range(3):
            ends = _run(simulator, "forecast", asked, seed)
            later = range(members, members + FRESH_MEMBERS)
            series = run_ensemble(conditions, later, seed)[:, :, chosen].sum(axis=2)
            for row in range(FRESH_MEMBERS):
                one = by_member(series[[row]])
                fresh = {
                    "peak_median": one.peak_median,
                    "weeks_to_peak": one.peak_day / 7,
                    "four_week_growth_percent": one.growth_percent,
                    "cumulative_median": one.cumulative_median,
                }
                for name, (low, high) in names.items():
                    yield ends[low] - 0.05 <= fresh[name] <= ends[high] + 0.05  # as rounded


def _climate() -> Iterator[bool]:
    import numpy as np

    from simulators.climate import warming
    from simulators.climate.loading import fields, responses
    from simulators.climate.weather import local_sd_degc

    simulator, rng = load("climate", {"spread": True}), np.random.default_rng(0)
    grids, members = fields(), responses()
    level = members.climatology_level()
    for latitude, longitude in ((60.2, 24.9), (48.9, 2.4), (-12.0, -77.0), (1.3, 103.8)):
        for year in (2030, 2060, 2090):
            asked = {"latitude": latitude, "longitude": longitude, "year": year}
            ends = _run(simulator, "future_temperature", asked | {"scenario": "ssp245"}, 0)
            at = (np.array([latitude]), np.array([longitude]))
            above = warming.baseline(members, np.array([1]), np.array([year]))[0] - level
            drawn = rng.choice(above, FRESH_YEARS)
            patterns = grids.pattern(*at, grids.is_land(*at))[0] + (
                grids.pattern_spread(*at)[0] * rng.standard_normal(FRESH_YEARS)
            )
            weather = local_sd_degc(latitude) * rng.standard_normal(FRESH_YEARS)
            fresh = grids.observed(*at)[0] + patterns * drawn + weather
            low, high = ends["temperature_low_degc"], ends["temperature_high_degc"]
            yield from ((fresh >= low) & (fresh <= high)).tolist()
