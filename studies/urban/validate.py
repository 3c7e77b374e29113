"""Errors of the corridor against published records: ``python -m studies.urban.validate DIR``.

DIR holds a ``parsed.csv``, one row a question: ``speed_factor``, ``demand_factor``, ``lanes_txt``,
``priority_txt``, ``family`` (naming speed, demand or road_diet) and the published values ``s_*``
(scenario) and ``p_*`` (changes in percent). Rows that repeat a setting count once.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from simulators.base import validate_call
from simulators.urban.interventions import ComparisonOutputs
from simulators.urban.simulator import UrbanSimulator
from studies.commands import published_parser, report
from studies.published import read_parsed

FAMILIES = ("speed", "demand", "road_diet")
_VALUES = {
    "s_average_idling_time_s": "idling_s",
    "s_total_vehicles": "vehicles",
    "p_travel_time_change_pct": "travel_time_percent",
    "p_co2_emissions_change_pct": "co2_percent",
    "p_idling_time_change_pct": "idling_percent",
}
_COLUMNS = ("speed_factor", "demand_factor", "lanes_txt", "priority_txt", "family", *_VALUES)
SEED = 0
REPLICATES = 5
"""A published record is one draw of drivers; the mean over a few of ours is the fair comparison."""


@dataclass(frozen=True)
class Published:
    """One distinct setting and its published values."""

    family: str
    arguments: Mapping[str, object]
    values: Mapping[str, float]


def read_published(folder: Path) -> list[Published]:
    """The distinct settings of ``folder/parsed.csv``, sorted. Raises ArgumentError."""
    rows = read_parsed(folder, _COLUMNS, _published)
    settings = {json.dumps(one.arguments, sort_keys=True): one for one in rows}
    return [settings[key] for key in sorted(settings)]


def validate(
    published: Sequence[Published], simulator: UrbanSimulator, *, seed: int, replicates: int
) -> dict[str, object]:
    """Mean absolute errors by family, in percentage points, and the other measures."""
    pairs = []
    for one in published:
        call = {**one.arguments, "replicates": replicates}
        arguments = validate_call(simulator, "compare_with_baseline", call)
        outputs = simulator.run("compare_with_baseline", arguments, seed)
        if not isinstance(outputs, ComparisonOutputs):
            raise TypeError(f"compare_with_baseline gave {type(outputs).__name__}")
        pairs.append((one, _values(outputs)))
    return {
        "travel_time_mae_points": _by_family(pairs, "travel_time_percent"),
        "co2_mae_points": _by_family(pairs, "co2_percent"),
        "idling_mae_points": _mae(pairs, "idling_percent"),
        "idling_mae_s": _mae(pairs, "idling_s"),
        "vehicle_count_max_error": int(
            max(abs(ours["vehicles"] - one.values["vehicles"]) for one, ours in pairs)
        ),
        "sign_accuracy": round(fmean(_same_signs(one, ours) for one, ours in pairs), 4),
        "n": len(pairs),
        "seed": seed,
        "replicates": replicates,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong input, 1 for a failed run."""
    parser = published_parser("studies.urban.validate")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--replicates", type=int, default=REPLICATES, help="runs a setting, 1 to 20 (default 5)"
    )
    given = parser.parse_args(argv)
    options = {"seed": given.seed, "replicates": given.replicates}
    return report(lambda: validate(read_published(given.dir), UrbanSimulator(), **options))


def _published(row: Mapping[str, str]) -> Published:
    named = [family for family in ("road_diet", "demand", "speed") if family in row["family"]]
    if not named:
        raise ValueError(f"family '{row['family']}' names none of {', '.join(FAMILIES)}")
    return Published(
        family=named[0],
        arguments={
            "speed_factor": float(row["speed_factor"] or 1),
            "demand_factor": float(row["demand_factor"] or 1),
            "lanes": _lanes(row["lanes_txt"]),
            "use_priority_junction": float(row["priority_txt"] or 0) != 0,
        },
        values={name: float(row[column]) for column, name in _VALUES.items()},
    )


def _lanes(text: str) -> int:
    """Lanes after the change: blank (none), '1.0', or '2to1'."""
    if not text.strip():
        return 2
    found = re.fullmatch(r"(?:\d+\s*to\s*)?(\d)(?:\.0)?", text.strip())
    if found is None:
        raise ValueError(f"lanes_txt is '{text}'")
    return int(found.group(1))


def _values(outputs: ComparisonOutputs) -> dict[str, float]:
    return {
        "idling_s": outputs.scenario_idling_s,
        "vehicles": float(outputs.scenario_vehicles),
        "travel_time_percent": outputs.travel_time_change_percent,
        "co2_percent": outputs.co2_change_percent or 0.0,
        "idling_percent": outputs.idling_change_percent or 0.0,
    }


def _by_family(
    pairs: Sequence[tuple[Published, Mapping[str, float]]], name: str
) -> dict[str, float | None]:
    parts = {family: [p for p in pairs if p[0].family == family] for family in FAMILIES}
    return {family: _mae(part, name) if part else None for family, part in parts.items()}


def _mae(pairs: Sequence[tuple[Published, Mapping[str, float]]], name: str) -> float:
    return round(fmean(abs(ours[name] - one.values[name]) for one, ours in pairs), 4)


def _same_signs(one: Published, ours: Mapping[str, float]) -> float:
    """Share of the three changes whose direction is the published one."""
    names = ("travel_time_percent", "co2_percent", "idling_percent")
    return fmean(float((ours[name] > 0) == (one.values[name] > 0)) for name in names)


if __name__ == "__main__":
    sys.exit(main())
