"""What the members of a scenario do on average, without chance: a few named places, one run.

The equations of ``step`` in expected values. Of the other places only the nation as a whole is
followed: people away from home, and visitors, meet the national prevalence. Some hundred
times cheaper than an ensemble; the calibration runs on it and the emulator learns what it misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from simulators.epidemiology.arguments import METRICS
from simulators.epidemiology.disease import DISEASE, Disease
from simulators.epidemiology.ensemble import Conditions, initial_means, member_inputs
from simulators.epidemiology.places import load_places, time_shares
from simulators.epidemiology.step import MemberInputs


def expected(
    conditions: Conditions, chosen: Sequence[int], disease: Disease = DISEASE
) -> NDArray[np.float64]:
    """Run the scenario's metric, people or people a day: (day, chosen place)."""
    inputs = member_inputs(conditions, disease, load_places())
    index = list(chosen)
    means = initial_means(conditions.prior_immunity_percent, disease, load_places())
    states = np.empty((*means.shape[:2], len(index) + 1))
    states[:, :, :-1] = means[:, :, index]
    states[:, :, -1] = means.sum(axis=2)
    out = np.empty((conditions.days, len(index)))
    own = np.append(share_of_own(disease)[index], 1.0)
    _run(states, own, inputs, METRICS.index(conditions.metric), out)
    return out


@lru_cache(maxsize=8)
def share_of_own(disease: Disease) -> NDArray[np.float64]:
    """Compute by place how much of its people's exposure is to one another."""
    shares = time_shares(load_places(), disease.commuting_share, disease.air_share)
    people = load_places().populations.astype(np.float64)
    at_home = np.diag(shares)
    present = people @ shares
    return np.asarray(at_home * at_home * people / present, dtype=np.float64)


@njit(cache=True, nogil=True, inline="always")
def _chance(hazard: float) -> float:  # pragma: no cover - compiled
    """1 - exp(-hazard): most hazards are small, and five terms are exact to 1e-10 there."""
    if hazard > 0.05:
        return float(-np.expm1(-hazard))
    h = hazard
    return h * (1.0 - h / 2.0 * (1.0 - h / 3.0 * (1.0 - h / 4.0 * (1.0 - h / 5.0))))


@njit(cache=True, nogil=True, inline="always")
def _met(  # pragma: no cover - compiled
    contacts: NDArray[np.float64], prevalence: NDArray[np.float64], a: int, g: int
) -> float:
    """Infectious people that one of age ``a`` meets in group ``g``; ``prevalence`` (age, group)."""
    met = 0.0
    for b in range(contacts.shape[0]):
        met += contacts[a, b] * prevalence[b, g]
    return met


@njit(cache=True, nogil=True)
def _run(  # pragma: no cover - compiled
    states: NDArray[np.float64],
    own: NDArray[np.float64],
    inputs: MemberInputs,
    metric: int,
    out: NDArray[np.float64],
) -> None:
    """``states``: (S L I H R, age, group), the nation last; ``own``: share of exposure by group."""
    ages, groups = states.shape[1], states.shape[2]
    nation = groups - 1
    share = 1.0 / states.sum(axis=0)
    prevalence = np.empty((ages, groups))
    away = np.empty(ages)
    ending, leaving, onset = inputs.rates[1], inputs.rates[2], inputs.rates[0]
    for day in range(out.shape[0]):
        contacts = inputs.contacts[inputs.matrix_of_day[day]]
        for a in range(ages):
            for g in range(groups):
                prevalence[a, g] = states[2, a, g] * share[a, g]
        for a in range(ages):
            away[a] = _met(contacts, prevalence, a, nation)
        for g in range(groups):
            total = 0.0
            for a in range(ages):
                met = own[g] * _met(contacts, prevalence, a, g) + (1.0 - own[g]) * away[a]
                hazard = inputs.transmission[day] * met + inputs.importation
                infected = _chance(hazard) * states[0, a, g]
                ill = onset * states[1, a, g]
                ended = ending * states[2, a, g]
                admitted = inputs.hospital_risk[a] * ended
                if metric == 0:
                    total += states[3, a, g]
                elif metric == 1:
                    total += admitted
                elif metric == 2:
                    total += infected
                elif metric == 3:
                    total += states[1, a, g]
                else:
                    total += states[2, a, g]
                # Nobody meets the removed: they count among the people only at the start.
                states[0, a, g] -= infected
                states[1, a, g] += infected - ill
                states[2, a, g] += ill - ended
                states[3, a, g] += admitted - leaving * states[3, a, g]
            if g < nation:
                out[day, g] = total
