"""Samples of the simulator for the emulator: for training, and held out from it.

``ssp245`` and five regions are held out: no setting of the one and no place in the others is
trained on. A row is a place in a year of a scenario with changed emissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simulators.climate import warming
from simulators.climate.emulator.inputs import Inputs, Single, aerosol, history, no_aerosol, place
from simulators.climate.fields import Array, fields
from simulators.climate.warming import SCENARIOS

HELD_OUT_SCENARIO = SCENARIOS.index("ssp245")
HELD_OUT_REGIONS = {
    "South Asia": (5.0, 35.0, 65.0, 95.0),
    "Siberia": (55.0, 75.0, 80.0, 130.0),
    "Andes": (-40.0, 5.0, -82.0, -62.0),
    "Mediterranean": (30.0, 46.0, -10.0, 36.0),
    "South Pacific": (-60.0, -20.0, -160.0, -110.0),
}
"""South, north, west, east in degrees."""

PLACES_A_SETTING = 6
MOST_POINTS = 4

Part = Literal["train", "scenario", "regions", "both"]


@dataclass(frozen=True)
class Samples:
    """Rows and what the members of the ensemble say, degC above 1979-2014.

    ``baseline_inputs`` are the same without changes of emissions. ``coarse``, ``full`` and
    ``changed`` (n, members): the coarse field, the full field, and the full field's change by the
    changed emissions; ``felt`` its part by aerosols. ``scatter`` (n): standard deviation of the
    field around a member.
    """

    inputs: Inputs
    baseline_inputs: Inputs
    coarse: Single
    full: Single
    changed: Single
    felt: Single
    scatter: Single


def draw(part: Part, settings: int, seed: int) -> Samples:
    """``settings`` random settings at six places each.

    A quarter changes greenhouse gases, a quarter aerosols around up to four points, a quarter both,
    the rest nothing; changes are up to 100 % in training and up to 50 % in what is held out.
    """
    random = np.random.default_rng(seed)
    most = 100.0 if part == "train" else 50.0
    scenario, year = _scenarios(part, settings, random), random.integers(2015, 2101, settings)
    gases = random.random(settings) < 0.5
    aerosols = random.random(settings) < 0.5
    percents = random.uniform(-most, most, (4, settings))
    percents[:2] *= gases
    percents[2:] *= aerosols
    rows = np.repeat(np.arange(settings), PLACES_A_SETTING)
    lat, lon = _places(part, len(rows), random)
    changes = _aerosols(lat, lon, percents[2:], aerosols, random)
    gases_percent = percents[:2, rows]
    return _answered(scenario[rows], year[rows], gases_percent, np.stack([lat, lon]), changes)


def held_out_region(latitude: Array, longitude: Array) -> NDArray[np.bool_]:
    """True in a region that is held out."""
    inside = np.zeros(latitude.shape, dtype=np.bool_)
    for south, north, west, east in HELD_OUT_REGIONS.values():
        inside |= (
            (latitude >= south) & (latitude <= north) & (longitude >= west) & (longitude <= east)
        )
    return inside


def _scenarios(part: Part, count: int, random: np.random.Generator) -> NDArray[np.intp]:
    seen = [k for k in range(len(SCENARIOS)) if k != HELD_OUT_SCENARIO]
    known = random.choice(seen, count)
    return np.full(count, HELD_OUT_SCENARIO) if part in ("scenario", "both") else known


def _places(part: Part, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Places spread evenly over the globe, inside the held-out regions or outside."""
    inside = part in ("regions", "both")
    found: list[Array] = []
    while sum(len(some) for some in found) < count:
        lat = np.degrees(np.arcsin(random.uniform(-1, 1, 4 * count)))
        lon = random.uniform(-180, 180, 4 * count)
        found.append(np.stack([lat, lon], -1)[held_out_region(lat, lon) == inside])
    lat, lon = np.concatenate(found)[:count].T
    return lat, lon


def _aerosols(
    lat: Array,
    lon: Array,
    percents: Array,
    changed: NDArray[np.bool_],
    random: np.random.Generator,
) -> Single:
    """Aerosol inputs of each row; one setting in two has a point at its first place."""
    inputs = no_aerosol(len(lat))
    for setting in np.flatnonzero(changed):
        own = slice(setting * PLACES_A_SETTING, (setting + 1) * PLACES_A_SETTING)
        count = int(random.integers(1, MOST_POINTS + 1))
        south = np.degrees(np.arcsin(random.uniform(-0.9, 0.95, count)))
        points = np.stack([random.uniform(-180, 180, count), south], -1)
        if random.random() < 0.5:
            points[0] = lon[own][0], lat[own][0]
        ones = np.ones(PLACES_A_SETTING)
        so2, bc = percents[:, setting]
        inputs[own] = aerosol(lat[own], lon[own], so2 * ones, bc * ones, points)
    return inputs


def _answered(
    scenario: NDArray[np.intp],
    year: NDArray[np.intp],
    gases_percent: Array,
    places: Array,
    changes: Single,
) -> Samples:
    """What the simulator says. ``places`` (2, n): latitudes, longitudes."""
    (co2, ch4), (lat, lon) = gases_percent, places
    land = fields().is_land(lat, lon)
    where = place(lat, lon, land)
    above = warming.baseline(scenario, year) - warming.responses().climatology_level()
    gases = warming.greenhouse_change(scenario, year, co2, ch4)
    parts = changes[:, 2:].astype(np.float64) * 100
    world = warming.aerosol_change(scenario, year, parts[:, 0], parts[:, 1])
    share = np.where(np.abs(parts) > 0, changes[:, :2] * 100 / np.where(parts == 0, 1, parts), 0)
    factor = np.abs(share).max(axis=1)[:, None]
    pattern, coarse = (where[:, [k]].astype(np.float64) for k in (0, 1))
    felt = pattern * factor * world
    full = pattern * (above + gases) + felt
    return Samples(
        inputs=Inputs(history(scenario, year, co2, ch4), where, changes),
        baseline_inputs=Inputs(history(scenario, year, 0 * co2, 0 * ch4), where, 0 * changes),
        coarse=np.asarray(coarse * (above + gases), dtype=np.float32),
        full=full.astype(np.float32),
        changed=np.asarray(pattern * gases + felt, dtype=np.float32),
        felt=felt.astype(np.float32),
        scatter=np.asarray(where[:, 2] * np.abs((full / pattern).mean(axis=1)), dtype=np.float32),
    )
