"""Fit the corridor's free constants: ``python -m studies.urban.calibrate DIR``.

DIR is a folder as ``validate`` reads it. The search is Nelder and Mead's over driving (speed limit,
top speed, acceleration, imperfection, spread of drivers) with a given signal; it prints what to
write into ``corridor.py``. Few settings and several seeds keep it from learning single rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from simulators.urban.corridor import CORRIDOR, Corridor
from simulators.urban.runs import BASELINE, Measures, Setting, Workplace, run_corridor
from simulators.urban.simulator import UrbanSimulator
from studies.commands import published_parser, report
from studies.urban.validate import Published, read_published

FREE = {
    "speed_limit_mps": (15.0, 30.0),
    "max_speed_mps": (15.0, 40.0),
    "accel_mps2": (1.0, 5.0),
    "sigma": (0.0, 1.0),
    "speed_deviation": (0.02, 0.2),
}
"""The fitted constants of driving and the range of the search."""

ROAD_DIET_WEIGHT = 0.3
"""Road diets count less: their published records mix two interventions."""

PUBLISHED_IDLING_S = 14.49
"""Idling of the published baseline, which pins the signal."""


def loss(
    corridor: Corridor, rows: Sequence[Published], seeds: Sequence[int], workplace: Workplace
) -> float:
    """Squared errors of travel time and CO2 changes (points) and of the baseline's idling (s)."""
    base = [run_corridor(BASELINE, seed, workplace, corridor) for seed in seeds]
    total = 2 * (fmean(run.idling_s for run in base) - PUBLISHED_IDLING_S) ** 2
    for row in rows:
        setting = Setting(**row.arguments)  # type: ignore[arg-type]
        runs = [run_corridor(setting, seed, workplace, corridor) for seed in seeds]
        weight = ROAD_DIET_WEIGHT if row.family == "road_diet" else 1.0
        for name, mean in (("travel_time_percent", _time), ("co2_percent", _co2)):
            change = (mean(runs) / mean(base) - 1) * 100
            total += weight * (change - row.values[name]) ** 2
    return total


def search(
    rows: Sequence[Published], seeds: Sequence[int], evaluations: int, workplace: Workplace
) -> Corridor:
    """The best corridor found from the present one in ``evaluations`` trials."""
    from scipy.optimize import minimize

    def corridor(values: Sequence[float]) -> Corridor:
        named = dict(zip(FREE, values, strict=True))
        return replace(CORRIDOR, **{name: round(float(v), 4) for name, v in named.items()})  # type: ignore[arg-type]

    start = [getattr(CORRIDOR, name) for name in FREE]
    found = minimize(
        lambda values: loss(corridor(values), rows, seeds, workplace),
        start,
        method="Nelder-Mead",
        bounds=list(FREE.values()),
        options={"maxfev": evaluations},
    )
    return corridor(found.x)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: prints the constants as JSON."""
    parser = published_parser("studies.urban.calibrate")
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ... averaged over")
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--every", type=int, default=6, help="use every n-th setting")
    given = parser.parse_args(argv)

    def constants() -> object:
        rows = read_published(given.dir)[:: given.every]
        workplace = UrbanSimulator().workplace
        best = search(rows, range(given.seeds), given.evaluations, workplace)
        error = loss(best, rows, range(given.seeds), workplace)
        return {"constants": {n: getattr(best, n) for n in FREE}, "loss": round(error, 3)}

    return report(constants)


def _time(runs: Sequence[Measures]) -> float:
    return fmean(run.travel_time_s for run in runs)


def _co2(runs: Sequence[Measures]) -> float:
    return fmean(run.co2_mg for run in runs)


if __name__ == "__main__":
    sys.exit(main())
