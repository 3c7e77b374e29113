"""Conditions and places that several tests run."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np

from simulators.epidemiology.disease import DISEASE, Disease
from simulators.epidemiology.ensemble import Conditions
from simulators.epidemiology.places import Places

START = date(2022, 10, 5)
SEASON = Conditions(start=START, r0=2.4, prior_immunity_percent=30)
PLAIN: Disease = replace(DISEASE, usual_protection=0.0, imported_per_day=0.0)
"""The disease without the usual vaccinations and without cases from abroad."""


def one_place(people: int = 20_000_000) -> Places:
    """A single place whose ages mix in proportion."""
    shares = np.array([0.06, 0.17, 0.43, 0.19, 0.15])
    counts = np.floor(people * shares).astype(np.int64)
    return Places(
        codes=("XX",),
        names=("Nowhere",),
        people=counts[:, None],
        latitude_deg=np.zeros(1),
        longitude_deg=np.zeros(1),
        contacts=np.tile(12.0 * counts / counts.sum(), (5, 1)),
    )
