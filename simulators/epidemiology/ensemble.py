"""One scenario's members: from constants and conditions to daily trajectories by place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulators.epidemiology.arguments import METRICS, Metric, check_memory
from simulators.epidemiology.disease import (
    DISEASE,
    Disease,
    Measures,
    community,
    contact_matrices,
    hospital_risk,
    immune_share,
    matrix_of_day,
    next_generation,
    seasonal,
    spectral_radius,
    usual_uptake,
)
from simulators.epidemiology.places import Places, load_places, time_shares
from simulators.epidemiology.step import MemberInputs, run_member


@dataclass(frozen=True)
class Conditions:
    """What a scenario is run under. ``drop`` is the seasonal fall of transmission, 0 to 1."""

    start: date
    r0: float
    drop: float = 0.0
    prior_immunity_percent: float = 0.0
    metric: Metric = "hospital prevalence"
    days: int = 315
    measures: Measures = field(default_factory=Measures)


def run_ensemble(
    conditions: Conditions,
    members: Iterable[int],
    seed: int,
    disease: Disease = DISEASE,
    places: Places | None = None,
) -> NDArray[np.int64]:
    """Run the members: (member, day, place). Member k of a seed is the same in every ensemble."""
    index = list(members)
    places = places or load_places()
    check_memory(len(index), conditions.days)
    inputs = member_inputs(conditions, disease, places)
    metric = METRICS.index(conditions.metric)
    out = np.zeros((len(index), conditions.days, len(places.names)), dtype=np.int64)

    def run(row: int) -> None:
        rng = np.random.default_rng([seed, index[row]])
        states = initial_states(conditions, disease, places, rng)
        run_member(rng, states, inputs, metric, out[row])

    # The compiled member holds no lock of the interpreter, so threads run side by side.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, range(len(index))))
    return out


def initial_states(
    conditions: Conditions, disease: Disease, places: Places, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw (5 states, age, place) on the start day: latent, infectious and in hospital by Poisson.

    Latent and infectious people share ``initial_infected`` by the length of the two states;
    the hospital holds what a steady incidence of that size would fill, times
    ``initial_hospital``. The immune start as removed.
    """
    means = initial_means(conditions.prior_immunity_percent, disease, places)
    people = places.people
    removed = np.floor(means[4] + rng.random(people.shape)).astype(np.int64)
    left = people - np.minimum(removed, people)
    states = np.zeros((5, *people.shape), dtype=np.int64)
    states[4] = people - left
    for state in (1, 2, 3):
        states[state] = np.minimum(rng.poisson(means[state]), left)
        left = left - states[state]
    states[0] = left
    return states


@lru_cache(maxsize=16)
def initial_means(percent: float, disease: Disease, places: Places) -> NDArray[np.float64]:
    """Compute (5 states, age, place) with ``percent`` immune: what ``initial_states`` draws around.

    Scenarios share it: callers only read it.
    """
    people = places.people.astype(np.float64)
    immune = immune_share(disease, percent, people.sum(axis=1))
    course = disease.latent_days + disease.infectious_days
    ill = disease.initial_infected * people
    stay = disease.stay_days / course * disease.initial_hospital
    removed = people * immune[:, None]
    latent = ill * disease.latent_days / course
    infectious = ill * disease.infectious_days / course
    patients = ill * hospital_risk(disease)[:, None] * stay
    means = np.empty((5, *people.shape))
    means[1:] = latent, infectious, patients, removed
    means[0] = np.maximum(people - means[1:].sum(axis=0), 0.0)
    return means


@lru_cache(maxsize=8)
def unit_chance(disease: Disease, places: Places) -> float:
    """Compute the chance of infection a contact that gives R0 = 1, in midwinter with nobody immune.

    R0 is the spectral radius of the nation's next-generation matrix.
    """
    people = places.people.sum(axis=1).astype(np.float64)
    return 1 / spectral_radius(next_generation(places.contacts, people, disease.infectious_days))


def member_inputs(conditions: Conditions, disease: Disease, places: Places) -> MemberInputs:
    """Prepare what all members of a scenario share."""
    days = conditions.days
    course = seasonal(conditions.start, days, conditions.drop, disease.peak_day_of_year)
    uptake = usual_uptake(conditions.start, days, disease.uptake_by_october)
    return MemberInputs(
        shares=time_shares(places, disease.commuting_share, disease.air_share),
        contacts=contact_matrices(places.contacts),
        matrix_of_day=matrix_of_day(conditions.measures, days),
        transmission=conditions.r0
        * unit_chance(disease, places)
        * course
        * (1 - disease.usual_protection * uptake)
        * community(conditions.measures, days),
        rates=1 / np.array([disease.latent_days, disease.infectious_days, disease.stay_days]),
        hospital_risk=hospital_risk(disease),
        importation=disease.imported_per_day,
    )
