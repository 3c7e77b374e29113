"""Constants of the disease, each with its origin, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SYMPTOMATIC_SHARE = 0.669
"""Share of infections with symptoms: pooled estimate of Carrat et al. 2008 (volunteer studies)."""

HOSPITAL_RISK_OF_ILL = (0.00697, 0.00274, 0.00561, 0.01060, 0.09091)
"""Hospitalisations per symptomatic illness by age group: the CDC's burden estimates, 2018-19."""


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

IMMUNITY_SHAPE = (0.5, 0.7, 1.0, 1.25, 1.4)
"""Relative prior immunity by age under full tilt: it grows with the seasons a person has lived
through, as attack rates that are highest in children suggest (Monto and Kioumehr 1975)."""

OVERLAP_FROM_PERCENT = 40.0
"""Where vaccination and past infections begin to protect the same people: half of the people are
vaccinated (CDC) at 40 to 60 %, which with one bad season makes 40 % immune. An assumption: no
measurement of the overlap is known to us."""


def hospital_risk(disease: Disease) -> NDArray[np.float64]:
    """Chance of admission an infection, by age group."""
    risk = np.array(HOSPITAL_RISK_OF_ILL) * SYMPTOMATIC_SHARE * disease.severity
    return np.asarray(np.minimum(risk, 1.0), dtype=np.float64)


def next_generation(
    contacts: NDArray[np.float64], people: NDArray[np.float64], infectious_days: float
) -> NDArray[np.float64]:
    """(infected age, infecting age) infections by one case among susceptibles, a unit chance.

    ``contacts[a, b]`` are contacts a day of one person of age a with people of age b; ``people``
    is the size of each group.
    """
    ratio = people[:, None] / people[None, :]
    return np.asarray(contacts * ratio * infectious_days, dtype=np.float64)


def spectral_radius(matrix: NDArray[np.float64]) -> float:
    """The largest modulus of the eigenvalues."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def immune_share(
    disease: Disease, percent: float, people: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Immune share by age, none above 0.98; its mean over the people is ``percent`` less overlap.

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
