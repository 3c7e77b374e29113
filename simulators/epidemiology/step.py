"""The daily chain-binomial step, compiled: susceptible, latent, infectious, hospital, removed.

Each transition is a binomial draw: by inversion (exact) where its variance is at most
``EXACT_VARIANCE``, else a rounded Gaussian of the same mean and variance, kept within bounds.
People are counted as integers, and every draw moves people from one state to another, so nobody is
lost or made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

EXACT_VARIANCE = 16.0


# Inlined, because a call would count a reference to the generator up and down at every draw: a
# quarter of the time.
@njit(cache=True, nogil=True, inline="always")
def _at_most_half(  # pragma: no cover - compiled
    rng: np.random.Generator, n: int, p: float, log_q: float
) -> int:
    """``log_q`` is log(1 - p): the callers know it, and a logarithm costs as much as a draw."""
    if n <= 0:
        return 0
    mean = n * p
    variance = mean * (1.0 - p)
    if variance > EXACT_VARIANCE:
        drawn = int(np.floor(mean + np.sqrt(variance) * rng.standard_normal() + 0.5))
        return min(max(drawn, 0), n)
    # Inversion: walk up the distribution function by its recurrence (Kachitvichyanukul and
    # Schmeiser 1988, BINV). The walk is about `mean` steps long.
    u = rng.random()
    if u < 1.0 - mean - 1e-9:  # less than the chance of none (Bernoulli): saves the exponential
        return 0
    mass = np.exp(n * log_q)
    if u <= mass:
        return 0
    odds = p / (1.0 - p)
    k = 0
    while u > mass and k < n:
        u -= mass
        k += 1
        mass *= odds * (n - k + 1) / k
        if mass < 1e-300 and k > mean:
            break
    return k


@njit(cache=True, nogil=True, inline="always")
def binomial(  # pragma: no cover - compiled
    rng: np.random.Generator, n: int, p: float, log_p: float, log_q: float
) -> int:
    """A draw of Binomial(n, p); ``log_p`` and ``log_q`` are the logarithms of p and 1 - p."""
    if n <= 0:
        return 0
    if p > 0.5:
        return n if p >= 1.0 else n - _at_most_half(rng, n, 1.0 - p, log_p)
    return _at_most_half(rng, n, p, log_q)


class MemberInputs(NamedTuple):
    """What all members of a scenario share.

    ``shares``: (home, visited) of time. ``contacts``: (matrix, age, age) a day. ``matrix_of_day``,
    ``transmission``: (day,), which contact matrix holds and the chance of infection a contact.
    ``rates``: chances a day of ending latency, infectiousness and the hospital stay.
    ``hospital_risk``: (age,). ``importation``: hazard a day of infection from abroad.
    """

    shares: NDArray[np.float64]
    contacts: NDArray[np.float64]
    matrix_of_day: NDArray[np.int64]
    transmission: NDArray[np.float64]
    rates: NDArray[np.float64]
    hospital_risk: NDArray[np.float64]
    importation: float


@njit(cache=True, nogil=True)
def _visiting(  # pragma: no cover - compiled
    people: NDArray[np.int64], shares: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """People by age (age, home) as they are spread over the visited places (age, place)."""
    out[:] = 0.0
    for a in range(people.shape[0]):
        for home in range(people.shape[1]):
            count, away, there = float(people[a, home]), shares[home], out[a]
            if count > 0:
                for place in range(len(away)):
                    there[place] += count * away[place]


@njit(cache=True, nogil=True)
def _force(  # pragma: no cover - compiled
    prevalence: NDArray[np.float64],
    contacts: NDArray[np.float64],
    back: NDArray[np.float64],
    risk: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Hazard of infection a day by (age, home), out of prevalence by (age, visited place).

    ``contacts`` are already times the chance of infection a contact; ``back`` is (visited, home).
    """
    risk[:] = 0.0
    out[:] = 0.0
    for a in range(contacts.shape[0]):
        here, total = risk[a], out[a]
        for b in range(contacts.shape[1]):
            weight, carried = contacts[a, b], prevalence[b]
            for place in range(len(here)):
                here[place] += weight * carried[place]
        for place in range(len(here)):
            weight, homes = here[place], back[place]
            if weight > 0.0:
                for home in range(len(homes)):
                    total[home] += weight * homes[home]


@njit(cache=True, nogil=True)
def run_member(  # pragma: no cover - compiled
    rng: np.random.Generator,
    states: NDArray[np.int64],
    inputs: MemberInputs,
    metric: int,
    out: NDArray[np.int64],
) -> None:
    """Run one member in place.

    ``states``: (5 states S L I H R, age, place), left as after the last day. ``metric``: its index
    in ``METRICS``. ``out``: (day, place), a state at the start of the day or a flow during it.
    """
    ages, places = states.shape[1], states.shape[2]
    rates, risks = inputs.rates, inputs.hospital_risk
    log_p, log_q = np.log(rates), np.log1p(-rates)
    risk_log_p, risk_log_q = np.log(risks), np.log1p(-risks)
    back = inputs.shares.T.copy()
    present = np.empty((ages, places))
    _visiting(states.sum(axis=0), inputs.shares, present)
    present = np.maximum(present, 1e-300)
    ill = np.empty((ages, places))
    risk = np.empty((ages, places))
    force = np.empty((ages, places))
    for day in range(out.shape[0]):
        _visiting(states[2], inputs.shares, ill)
        ill /= present
        weights = inputs.transmission[day] * inputs.contacts[inputs.matrix_of_day[day]]
        _force(ill, weights, back, risk, force)
        for a in range(ages):
            for p in range(places):
                hazard = force[a, p] + inputs.importation
                infected = 0
                if hazard > 0.0:
                    chance = -np.expm1(-hazard)
                    log_chance = np.log(chance) if chance > 0.5 else 0.0
                    infected = binomial(rng, states[0, a, p], chance, log_chance, -hazard)
                onset = binomial(rng, states[1, a, p], rates[0], log_p[0], log_q[0])
                ended = binomial(rng, states[2, a, p], rates[1], log_p[1], log_q[1])
                admitted = binomial(rng, ended, risks[a], risk_log_p[a], risk_log_q[a])
                left = binomial(rng, states[3, a, p], rates[2], log_p[2], log_q[2])
                if metric == 0:
                    out[day, p] += states[3, a, p]
                elif metric == 1:
                    out[day, p] += admitted
                elif metric == 2:
                    out[day, p] += infected
                elif metric == 3:
                    out[day, p] += states[1, a, p]
                else:
                    out[day, p] += states[2, a, p]
                states[0, a, p] -= infected
                states[1, a, p] += infected - onset
                states[2, a, p] += onset - ended
                states[3, a, p] += admitted - left
                states[4, a, p] += ended - admitted + left
