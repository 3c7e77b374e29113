"""The disease: its constants, each with its origin, and what follows from them day by day.

The season's course and interventions are multipliers of transmission in time. Courses are kept,
because many scenarios share them: callers only read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.places import SCHOOL_AGE

SYMPTOMATIC_SHARE = 0.669
"""Share of infections with symptoms: pooled estimate of Carrat et al. 2008 (volunteer studies)."""

HOSPITAL_RISK_OF_ILL = (0.00697, 0.00274, 0.00561, 0.01060, 0.09091)
"""Hospitalisations per symptomatic illness by age group: the CDC's burden estimates, 2018-19."""
IMMUNITY_SHAPE = (0.5, 0.7, 1.0, 1.25, 1.4)
"""Relative prior immunity by age under full tilt: it grows with the seasons a person has lived
through, as attack rates that are highest in children suggest (Monto and Kioumehr 1975)."""

OVERLAP_FROM_PERCENT = 40.0
"""Where vaccination and past infections begin to protect the same people: half of the people are
vaccinated (CDC) at 40 to 60 %, which with one bad season makes 40 % immune. An assumption: no
measurement of the overlap is known to us."""

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
class Disease:
    """Times in days, shares of 1. The constants that ``studies/epidemiology/calibrate.py`` lists as
    ``FREE`` are fitted to the published records; the others are set (``docs/simulators`` says from
    what).

    ``severity`` scales the hospitalisation risks of all ages alike. ``initial_infected`` is the
    share of the people that is latent or infectious on the first day, ``initial_hospital`` the
    share of a steady state's patients that is in hospital. The ``*_drop`` are by how much
    midsummer's transmission is below midwinter's. ``immunity_tilt`` turns prior immunity from even
    over the ages (0) to ``IMMUNITY_SHAPE`` (1); of the immunity beyond ``OVERLAP_FROM_PERCENT``
    the share ``immunity_overlap`` meets people who are protected already. ``usual_protection`` is
    the fall of infection by the usual autumn vaccination, ``uptake_by_october`` the share of it
    given by 6 October.
    ``imported_per_day`` is each susceptible person's hazard from abroad. ``commuting_share`` and
    ``air_share`` of everybody's time are spent in another state: 3.8 % of workers work in one
    (census, 2011), a third of five days in seven; about 1.3 round trips of four days a person and
    year.
    """

    latent_days: float = 1.4
    infectious_days: float = 1.47
    stay_days: float = 5.5
    severity: float = 0.724
    initial_infected: float = 4.86e-4
    initial_hospital: float = 0.205
    moderate_drop: float = 0.25
    high_drop: float = 0.5
    peak_day_of_year: float = 15.0
    immunity_tilt: float = 0.213
    immunity_overlap: float = 0.282
    usual_protection: float = 0.353
    uptake_by_october: float = 0.38
    imported_per_day: float = 9e-7
    commuting_share: float = 0.0044
    air_share: float = 0.014


DISEASE = Disease()


def hospital_risk(disease: Disease) -> NDArray[np.float64]:
    """Compute the chance of admission an infection, by age group."""
    risk = np.array(HOSPITAL_RISK_OF_ILL) * SYMPTOMATIC_SHARE * disease.severity
    return np.asarray(np.minimum(risk, 1.0), dtype=np.float64)


def next_generation(
    contacts: NDArray[np.float64], people: NDArray[np.float64], infectious_days: float
) -> NDArray[np.float64]:
    """Compute infections by one case among susceptibles, a unit chance: (infected, infecting age).

    ``contacts[a, b]`` are contacts a day of one person of age a with people of age b; ``people``
    is the size of each group.
    """
    ratio = people[:, None] / people[None, :]
    return np.asarray(contacts * ratio * infectious_days, dtype=np.float64)


def spectral_radius(matrix: NDArray[np.float64]) -> float:
    """Return the largest modulus of the eigenvalues."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def immune_share(
    disease: Disease, percent: float, people: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute shares immune by age, none above 0.98; the people's mean is ``percent`` less overlap.

    Of the immunity beyond ``OVERLAP_FROM_PERCENT``, ``immunity_overlap`` meets people who are
    protected already.
    """
    percent -= disease.immunity_overlap * max(0.0, percent - OVERLAP_FROM_PERCENT)
    weights = people / people.sum()
    shape = 1 + disease.immunity_tilt * (IMMUNITY_SHAPE / np.dot(IMMUNITY_SHAPE, weights) - 1)
    share: NDArray[np.float64] = percent / 100 * shape
    for _ in range(50):
        share = np.minimum(0.98, share)
        missing = percent / 100 - float(share @ weights)
        if abs(missing) < 1e-12:
            break
        room = (share < 0.98) * shape
        share = share + missing * room / (room @ weights)
    return share


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
    """Compute the seasonal multiplier a day.

    1 at the winter peak, 1 - ``drop`` half a year from it, a cosine between.
    The same course as the seasonal forcing of Balcan et al. 2009 for the northern hemisphere.
    """
    first = start.timetuple().tm_yday
    phase = 2 * np.pi * (first + np.arange(days) - peak_day_of_year) / 365.0
    course: NDArray[np.float64] = 1 - drop * (1 - np.cos(phase)) / 2
    return course


@lru_cache(maxsize=64)
def usual_uptake(start: date, days: int, by_october: float) -> NDArray[np.float64]:
    """Compute the share of the season's usual vaccinations that is given by each day.

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
    """Compute the multiplier a day of community reduction and vaccination together."""
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
    """Mark days with closed schools by 1, others by 0."""
    matrix = np.zeros(days, dtype=np.int64)
    first = 7 * measures.school_closure_start_week
    matrix[first : first + 7 * measures.school_closure_weeks] = 1
    return matrix


def contact_matrices(contacts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stack contacts with schools open and with schools closed: (2, age, age)."""
    closed = contacts.copy()
    closed[SCHOOL_AGE, SCHOOL_AGE] *= SCHOOL_CONTACTS_LEFT
    return np.stack([contacts, closed])
