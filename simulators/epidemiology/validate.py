"""Errors against published records: ``python -m simulators.epidemiology.validate DIR``.

DIR holds a ``parsed.csv``, one row a question: ``states``, ``start``, ``R0``, ``season`` (no,
moderate, high), ``imm`` (percent), ``metric`` (prevalence, incidence) and the published ``peak``,
``weeks``, ``trend`` and ``cum``. Rows that repeat a query count once.

The published state names are shifted against their data: a list of the fifty states in
alphabetical order with the District of Columbia last seems to index data where it stands in its
alphabetical place, so that 'Florida' shows the District's values. And their quantiles pool members
and places. Both conventions are followed here and nowhere else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import fmean

from simulators.base import ArgumentError
from simulators.commands import published_parser, report
from simulators.epidemiology.arguments import Metric
from simulators.epidemiology.disease import DISEASE, Disease
from simulators.epidemiology.ensemble import Conditions, run_ensemble
from simulators.epidemiology.places import find_states, load_places
from simulators.epidemiology.summary import Summary, pooled
from simulators.published import read_parsed

BIG_PEAK = 40
SMALLEST = 0.5
"""A median of 0 is taken as half a person where a logarithm is needed."""
SEED = 0
MEMBERS = 20
DAYS = 300
_METRICS: dict[str, Metric] = {
    "prevalence": "hospital prevalence",
    "incidence": "hospital incidence",
}
_SEASONS = ("no", "moderate", "high")
_COLUMNS = ("states", "start", "R0", "season", "imm", "metric", "peak", "weeks", "trend", "cum")


@dataclass(frozen=True)
class Published:
    """One distinct query with its published values; ``places`` index the data, not the names."""

    states: tuple[str, ...]
    places: tuple[int, ...]
    start: date
    r0: float
    season: str
    immunity_percent: float
    metric: str
    peak: float
    weeks: float
    trend: str
    cumulative: float

    @property
    def high_60(self) -> bool:
        """High seasonality with 60 % immunity."""
        return self.season == "high" and self.immunity_percent == 60


def read_published(folder: Path) -> list[Published]:
    """The distinct queries of ``folder/parsed.csv`` in the file's order. Raises ArgumentError."""
    return list(dict.fromkeys(read_parsed(folder, _COLUMNS, _published)))


def published_places(states: Sequence[str]) -> tuple[int, ...]:
    """Indices of the places whose data the published records show under these names."""
    names = load_places().names
    capital = "District of Columbia"
    listed = [*(name for name in names if name != capital), capital]
    return tuple(listed.index(name) for name in find_states(states))


def simulate(one: Published, disease: Disease, members: int, seed: int) -> Summary:
    """Our values for a query, by the published conventions."""
    series = run_ensemble(published_conditions(one, disease), range(members), seed, disease)
    return pooled(series[:, :, list(one.places)])


def published_conditions(one: Published, disease: Disease) -> Conditions:
    """What a query is run under."""
    drop = {"no": 0.0, "moderate": disease.moderate_drop, "high": disease.high_drop}[one.season]
    return Conditions(
        start=one.start,
        r0=one.r0,
        drop=drop,
        prior_immunity_percent=one.immunity_percent,
        metric=_METRICS[one.metric],
        days=DAYS,
    )


def errors(pairs: Sequence[tuple[Published, Summary]]) -> dict[str, float | int | None]:
    """Mean absolute errors (natural logarithms; weeks) and the share of right trends."""
    big = [(one, ours) for one, ours in pairs if one.peak >= BIG_PEAK]
    return {
        "log_peak_mae": _mean([_log_error(ours.peak_median, one.peak) for one, ours in pairs]),
        "weeks_mae_big": _mean([abs(ours.peak_day / 7 - one.weeks) for one, ours in big]),
        "trend_accuracy": _mean([float(ours.trend == one.trend) for one, ours in pairs]),
        "log_cumulative_mae": _mean(
            [_log_error(ours.cumulative_median, one.cumulative) for one, ours in pairs]
        ),
        "n": len(pairs),
        "n_big": len(big),
    }


def validate(
    published: Sequence[Published], disease: Disease, *, members: int, seed: int
) -> dict[str, object]:
    """``errors`` of all queries and of those without high seasonality at 60 % immunity."""
    pairs = [(one, simulate(one, disease, members, seed)) for one in published]
    return {
        "all": errors(pairs),
        "excluding_high_60": errors([pair for pair in pairs if not pair[0].high_60]),
        "members": members,
        "seed": seed,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong input, 1 for a failed run."""
    parser = published_parser("simulators.epidemiology.validate")
    parser.add_argument("--members", type=int, default=MEMBERS, help="default 20")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(argv)

    def found() -> object:
        if given.members < 1:
            raise ArgumentError(f"--members is {given.members}: it must be at least 1")
        published = read_published(given.dir)
        return validate(published, DISEASE, members=given.members, seed=given.seed)

    return report(found)


def _published(row: dict[str, str]) -> Published:
    season = row["season"].strip()
    if season not in _SEASONS:
        raise ValueError(f"'{season}' is not a season; known: {', '.join(_SEASONS)}")
    metric = row["metric"].strip()
    if metric not in _METRICS:
        raise ValueError(f"'{metric}' is not a metric; known: {', '.join(_METRICS)}")
    states = find_states([name.strip() for name in row["states"].split(",")])
    return Published(
        states=states,
        places=published_places(states),
        start=date.fromisoformat(row["start"]),
        r0=float(row["R0"]),
        season=season,
        immunity_percent=float(row["imm"]),
        metric=metric,
        peak=float(row["peak"]),
        weeks=float(row["weeks"]),
        trend=row["trend"],
        cumulative=float(row["cum"]),
    )


def _log_error(ours: float, theirs: float) -> float:
    return abs(math.log(max(ours, SMALLEST) / max(theirs, SMALLEST)))


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


if __name__ == "__main__":
    sys.exit(main())
