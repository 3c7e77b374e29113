"""Transmission day by day: the season's course and interventions, as multipliers in time.

Courses are kept, because many scenarios share them: callers only read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.places import SCHOOL_AGE

SCHOOL_CONTACTS_LEFT = 0.25
"""Share of contacts among 5-17 year olds that remains while schools are closed.

With the contact matrix of this model, closure then lowers the reproduction number by 15 %;
Cauchemez et al. 2008 estimate that holidays lower transmission to children by 20 to 29 %.
"""
VACCINE_EFFECT = 0.4
"""Protection against infection of a vaccinated person: between the 40 and 60 % of well matched
seasons, taken at its lower end (CDC, seasonal vaccine effectiveness studies)."""
CAMPAIGN_DAYS = 70
OCTOBER_DAY = 66
CAMPAIGN_END_DAY = 149
"""Days after 1 August: 6 October and 28 December."""


@dataclass(frozen=True)
class Measures:
    """Interventions; weeks count from the start date."""

    school_closure_weeks: int = 0
    school_closure_start_week: int = 0
    community_reduction_percent: float = 0.0
    community_reduction_weeks: int = 0
    community_reduction_start_week: int = 0
    vaccination_coverage_percent: float = 0.0
    vaccination_start_week: int = 0


@lru_cache(maxsize=64)
def seasonal(start: date, days: int, drop: float, peak_day_of_year: float) -> NDArray[np.float64]:
    """Multiplier a day: 1 at the winter peak, 1 - ``drop`` half a year from it, a cosine between.

    The same course as the seasonal forcing of Balcan et al. 2009 for the northern hemisphere.
    """
    first = start.timetuple().tm_yday
    phase = 2 * np.pi * (first + np.arange(days) - peak_day_of_year) / 365.0
    course: NDArray[np.float64] = 1 - drop * (1 - np.cos(phase)) / 2
    return course


@lru_cache(maxsize=64)
def usual_uptake(start: date, days: int, by_october: float) -> NDArray[np.float64]:
    """Share of the season's usual vaccinations that is given by each day.

    Linear from 0 on 1 August to ``by_october`` on 6 October and to 1 on 28 December, then flat: the
    course of the CDC's weekly coverage estimates. A new season begins each 1 August.
    """
    first = start.toordinal()
    augusts = np.array([date(start.year + k, 8, 1).toordinal() for k in range(-1, days // 365 + 2)])
    dates = first + np.arange(days)
    since = dates - augusts[np.searchsorted(augusts, dates, side="right") - 1]
    given: NDArray[np.float64] = np.interp(
        since, (0, OCTOBER_DAY, CAMPAIGN_END_DAY), (0.0, by_october, 1.0)
    )
    return given


@lru_cache(maxsize=64)
def community(measures: Measures, days: int) -> NDArray[np.float64]:
    """Multiplier a day of community reduction and vaccination together."""
    factor = np.ones(days)
    first = 7 * measures.community_reduction_start_week
    last = first + 7 * measures.community_reduction_weeks
    factor[first:last] = 1 - measures.community_reduction_percent / 100
    if measures.vaccination_coverage_percent > 0:
        since = np.arange(days, dtype=np.float64) - 7 * measures.vaccination_start_week
        covered = np.clip(since / CAMPAIGN_DAYS, 0, 1) * measures.vaccination_coverage_percent / 100
        factor *= 1 - VACCINE_EFFECT * covered
    return factor


@lru_cache(maxsize=64)
def matrix_of_day(measures: Measures, days: int) -> NDArray[np.int64]:
    """1 on days with closed schools, else 0."""
    matrix = np.zeros(days, dtype=np.int64)
    first = 7 * measures.school_closure_start_week
    matrix[first : first + 7 * measures.school_closure_weeks] = 1
    return matrix


def contact_matrices(contacts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2, age, age): schools open, schools closed."""
    closed = contacts.copy()
    closed[SCHOOL_AGE, SCHOOL_AGE] *= SCHOOL_CONTACTS_LEFT
    return np.stack([contacts, closed])
