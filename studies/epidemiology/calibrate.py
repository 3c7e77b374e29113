"""Fit the disease's constants: ``python -m studies.epidemiology.calibrate DIR``.

DIR is a folder as ``validate`` reads it. Nelder and Mead's search runs over the constants in
``FREE``, on the mean field (the medians of counts are approximated), against the four errors of
``validate`` relative to their targets, with a penalty for leaving the ranges of the literature. For
the trend it takes the chance of the right class, as one person more or less decides many.
``--split`` fits twice, each time on every second query, and prints the errors on the queries that
the fit did not see; ``--seed`` shuffles the queries before they are split.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.disease import DISEASE, Disease
from simulators.epidemiology.emulator.mean_field import expected
from simulators.epidemiology.summary import GROWTH_DAY, Summary, growth_percent
from studies.commands import published_parser, report
from studies.epidemiology.trend_chances import likely_median, trend_chances
from studies.epidemiology.validate import (
    MEMBERS,
    Published,
    errors,
    published_conditions,
    read_published,
)

FREE: Mapping[str, tuple[float, float]] = {
    "infectious_days": (1.8, 0.15),
    "severity": (0.8, 0.3),
    "initial_infected": (6e-4, 0.6),
    "initial_hospital": (0.25, 0.5),
    "usual_protection": (0.3, 0.2),
    "immunity_tilt": (0.4, 0.5),
    "immunity_overlap": (0.05, 1.0),
}
"""Prior median and standard deviation of the logarithm.

Infectious time: a generation time of 2.6 to 3.6 days (Ferguson et al. 2005, Cowling et al. 2009).
Severity: the range of the CDC's yearly burden estimates around that of 2018-19. Usual protection:
half of the people vaccinated at 40 to 60 % (CDC). The others have wide priors, for want of data.
"""

PRIOR_WEIGHT = 0.02
TARGETS = {"log_peak_mae": 0.35, "weeks_mae_big": 1.0, "log_cumulative_mae": 0.4}
WRONG_TREND_TARGET = 0.15
STEP = 0.08
"""Size of the first simplex, in logarithms."""


def summary(one: Published, disease: Disease) -> Summary:
    """A query's values by the published conventions, out of the mean field."""
    return _summary(_curves(one, disease))


def _curves(one: Published, disease: Disease) -> NDArray[np.float64]:
    return expected(published_conditions(one, disease), one.places, disease)


def _summary(curves: NDArray[np.float64]) -> Summary:
    middle = np.floor(np.median(np.floor(curves + 1 / 3), axis=1) * 2) / 2
    first_weeks = np.array([likely_median(curves[day], MEMBERS) for day in (0, GROWTH_DAY)])
    day = int(middle.argmax())
    return Summary(
        peak_median=float(middle[day]),
        peak_lower_90=math.nan,
        peak_upper_90=math.nan,
        peak_day=day,
        growth_percent=growth_percent(first_weeks),
        cumulative_median=float(middle.sum()),
    )


def loss(disease: Disease, published: Sequence[Published]) -> float:
    """Errors over their targets, more where one exceeds 90 % of it, and the priors' penalty."""
    found = score(disease, published)
    shares = [(found[name] or 0.0) / target for name, target in TARGETS.items()]
    shares.append((1 - (found["trend_accuracy"] or 0.0)) / WRONG_TREND_TARGET)
    prior = sum(
        (math.log(getattr(disease, name) / median) / spread) ** 2
        for name, (median, spread) in FREE.items()
    )
    return sum(0.5 * s + 4 * max(0.0, s - 0.9) for s in shares) + PRIOR_WEIGHT * prior


def score(disease: Disease, published: Sequence[Published]) -> dict[str, float | int | None]:
    """``validate.errors`` of the mean field, without high seasonality at 60 % immunity.

    ``trend_accuracy`` is what is expected of ensembles of ``MEMBERS``.
    """
    known = [(one, _curves(one, disease)) for one in published if not one.high_60]
    found = errors([(one, _summary(curves)) for one, curves in known])
    right = [
        trend_chances(curves[0], curves[GROWTH_DAY], MEMBERS)[one.trend] for one, curves in known
    ]
    return {**found, "trend_accuracy": round(fmean(right), 4) if right else None}


def search(published: Sequence[Published], evaluations: int, start: Disease = DISEASE) -> Disease:
    """The best disease found from ``start`` in about ``evaluations`` trials."""
    from scipy.optimize import minimize

    origin = np.log([getattr(start, name) for name in FREE])

    def disease(logs: NDArray[np.float64]) -> Disease:
        values = {name: float(f"{math.exp(x):.3g}") for name, x in zip(FREE, logs, strict=True)}
        return replace(start, **values)

    simplex = np.vstack([origin, origin + STEP * np.eye(len(origin))])
    found = minimize(
        lambda logs: loss(disease(logs), published),
        origin,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": evaluations, "xatol": 1e-3, "fatol": 1e-3},
    )
    return disease(found.x)


def split_half(
    published: Sequence[Published], evaluations: int, seed: int
) -> list[dict[str, object]]:
    """For each half of the shuffled queries: fitted constants, errors inside and outside it.

    The search starts from the priors' medians: the present constants have seen both halves.
    """
    shuffled = list(published)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 no secret
    start = replace(DISEASE, **{name: median for name, (median, _) in FREE.items()})
    reports: list[dict[str, object]] = []
    for inside, outside in ((shuffled[::2], shuffled[1::2]), (shuffled[1::2], shuffled[::2])):
        best = search(inside, evaluations, start)
        reports.append(
            {
                "constants": _constants(best),
                "fitted": score(best, inside),
                "unseen": score(best, outside),
            }
        )
    return reports


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: prints the constants and their errors as JSON."""
    parser = published_parser("studies.epidemiology.calibrate")
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--split", action="store_true", help="check on unseen halves")
    parser.add_argument("--seed", type=int, default=0, help="of the split")
    given = parser.parse_args(argv)

    def found() -> object:
        published = read_published(given.dir)
        if given.split:
            return split_half(published, given.evaluations, given.seed)
        best = search(published, given.evaluations)
        return {"constants": _constants(best), "errors": score(best, published)}

    return report(found)


def _constants(disease: Disease) -> dict[str, float]:
    return {name: getattr(disease, name) for name in FREE}


if __name__ == "__main__":
    sys.exit(main())
