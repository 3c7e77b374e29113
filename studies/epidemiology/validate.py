"""Errors against published records: ``python -m studies.epidemiology.validate DIR``.

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
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from simulators.base import ArgumentError
from simulators.epidemiology.arguments import Metric
from simulators.epidemiology.disease import (
    DISEASE,
    Disease,
    immune_share,
    next_generation,
    spectral_radius,
)
from simulators.epidemiology.ensemble import Conditions, member_inputs, run_ensemble
from simulators.epidemiology.places import find_states, load_places
from simulators.epidemiology.summary import GROWTH_DAY, QUANTILES, Summary, growth_percent
from studies.commands import published_parser, report
from studies.published import read_parsed

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


def pooled(series: NDArray[np.int64]) -> Summary:
    """Of (member, day, place): daily quantiles over members and places together, then their peak.

    Several places then say how large a typical one is, not how large they are together.
    """
    days = series.shape[1]
    samples = np.moveaxis(series, 1, 0).reshape(days, -1)
    low, middle, high = np.quantile(samples, QUANTILES, axis=1)
    day = int(middle.argmax())
    return Summary(
        peak_median=float(middle[day]),
        peak_lower_90=float(low[day]),
        peak_upper_90=float(high[day]),
        peak_day=day,
        growth_percent=growth_percent(middle),
        cumulative_median=float(middle.sum()),
    )


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


def fading(one: Published, disease: Disease) -> bool:
    """Hospital prevalence of an epidemic that falls from the start: over the first four weeks a
    case infects fewer than one."""
    places, conditions = load_places(), published_conditions(one, disease)
    people = places.people.sum(axis=1).astype(float)
    left = 1 - immune_share(disease, one.immunity_percent, people)
    unit = next_generation(places.contacts, people, disease.infectious_days)
    chance = member_inputs(conditions, disease, places).transmission[: GROWTH_DAY + 1].mean()
    return one.metric == "prevalence" and chance * spectral_radius(unit * left[:, None]) < 1


def burden_by_r0(published: Sequence[Published]) -> dict[str, float | None]:
    """By metric: rank correlation (Kendall's tau) of R0 and the published cumulative a head, over
    pairs of queries at 60 % immunity, R0 up to 2.4 and the same seasonality. Of an epidemic it is
    positive: a larger R0 never makes fewer ill."""
    people = load_places().populations
    found: dict[str, list[float]] = {metric: [] for metric in _METRICS}
    for one, other in combinations(published, 2):
        alike = (one.metric, one.season) == (other.metric, other.season)
        fades = one.immunity_percent == other.immunity_percent == 60 and max(one.r0, other.r0) < 2.5
        if alike and fades and one.r0 != other.r0:
            first, second = (q.cumulative / np.median(people[list(q.places)]) for q in (one, other))
            found[one.metric].append(float(np.sign((first - second) * (one.r0 - other.r0))))
    return {metric: _mean(signs) for metric, signs in found.items()}


def validate(
    published: Sequence[Published], disease: Disease, *, members: int, seed: int
) -> dict[str, object]:
    """``errors`` of all queries, and of parts of them."""
    pairs = [(one, simulate(one, disease, members, seed)) for one in published]
    fades = [fading(one, disease) for one in published]
    return {
        "all": errors(pairs),
        "excluding_high_60": errors([pair for pair in pairs if not pair[0].high_60]),
        "excluding_60": errors([pair for pair in pairs if pair[0].immunity_percent != 60]),
        "fading_prevalence": errors(
            [pair for pair, fade in zip(pairs, fades, strict=True) if fade]
        ),
        "excluding_fading_prevalence": errors(
            [p for p, fade in zip(pairs, fades, strict=True) if not fade]
        ),
        "published_burden_by_r0": burden_by_r0(published),
        "members": members,
        "seed": seed,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 2 for wrong input, 1 for a failed run."""
    parser = published_parser("studies.epidemiology.validate")
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
