"""Temperature of many places and years at once, as numpy arrays.

Local temperature = observed mean of 1979-2014 + pattern x (global warming - that of 1979-2014),
plus pattern x change by greenhouse gas emissions, plus a regional response to aerosols. All inputs
broadcast; latitudes and longitudes in degrees, changes in percent of the scenario's emissions from
2015 on. Callers validate: nothing here checks or clips.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.climate import warming
from simulators.climate.fields import Array, fields, point_shares, regional_factor
from simulators.climate.warming import SCENARIOS, percentile

Z90 = 1.6449
"""Half-width of the central 90 % of a normal distribution, in standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """Central value (mean over members) and range of 5-95 %, degC."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Changed:
    """A temperature after a change of emissions, and what changed."""

    temperature: Estimate
    baseline: Estimate
    change: Estimate
    global_change: Estimate


@dataclass(frozen=True)
class Query:
    """Places and years, one-dimensional arrays of one length; scenarios as numbers."""

    latitude: Array
    longitude: Array
    year: NDArray[np.intp]
    scenario: NDArray[np.intp]
    land: NDArray[np.bool_]

    @property
    def above_climatology(self) -> Array:
        """Global warming above that of the observed climatology: (queries, members), degC."""
        level = warming.responses().climatology_level()
        return np.asarray(warming.baseline(self.scenario, self.year) - level)


class Projections(ABC):
    """Who projects 2015-2100 at places: the physics, or the emulator.

    ``land`` overrules the land mask. Changes are percent of the scenario's emissions.
    """

    def future_temperature(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        scenario: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Estimate:
        """Project the temperature of years 2015-2100 without changes."""
        return self._future(_query(latitude, longitude, year, scenario, land)[0])

    def diy_greenhouse(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        scenario: ArrayLike,
        *,
        delta_co2: ArrayLike,
        delta_ch4: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Changed:
        """Project the temperature with changed CO2 and CH4 emissions."""
        query, (co2, ch4) = _query(latitude, longitude, year, scenario, land, delta_co2, delta_ch4)
        return self._greenhouse(query, co2, ch4)

    def diy_aerosol(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        scenario: ArrayLike,
        *,
        delta_so2: ArrayLike,
        delta_bc: ArrayLike,
        modify_points: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Changed:
        """Project it with SO2 and BC emissions changed around [[longitude, latitude], ...]."""
        query, (so2, bc) = _query(latitude, longitude, year, scenario, land, delta_so2, delta_bc)
        points = np.asarray(modify_points, dtype=np.float64).reshape(-1, 2)
        return self._aerosol(query, so2, bc, points)

    @abstractmethod
    def _future(self, query: Query) -> Estimate: ...

    @abstractmethod
    def _greenhouse(self, query: Query, co2: Array, ch4: Array) -> Changed: ...

    @abstractmethod
    def _aerosol(self, query: Query, so2: Array, bc: Array, points: Array) -> Changed: ...


@dataclass(frozen=True)
class Physics(Projections):
    """FaIR's members and pattern scaling.

    ``sensitivity`` multiplies all of FaIR's warming, ``bias_degc`` adds to the observed climate.
    """

    sensitivity: float = 1.0
    bias_degc: float = 0.0

    def history_temperature(
        self,
        latitude: ArrayLike,
        longitude: ArrayLike,
        year: ArrayLike,
        land: ArrayLike | None = None,
    ) -> Estimate:
        """Compute the temperature of years 1850-2014."""
        return self.future_temperature(latitude, longitude, year, SCENARIOS[0], land)

    def _place(self, query: Query) -> _Place:
        grids, at = fields(), (query.latitude, query.longitude)
        observed = grids.observed(*at) + self.bias_degc
        return _Place(observed, grids.pattern(*at, query.land), grids.pattern_spread(*at))

    def _above(self, query: Query) -> Array:
        return query.above_climatology * self.sensitivity

    def _future(self, query: Query) -> Estimate:
        return _local(self._place(query), self._above(query))

    def _greenhouse(self, query: Query, co2: Array, ch4: Array) -> Changed:
        change = warming.greenhouse_change(query.scenario, query.year, co2, ch4)
        place = self._place(query)
        return _changed(place, self._above(query), change * self.sensitivity, place.pattern)

    def _aerosol(self, query: Query, so2: Array, bc: Array, points: Array) -> Changed:
        shares = point_shares(points, fields().emissions)
        world = shares.sum()
        change = warming.aerosol_change(query.scenario, query.year, so2 * world, bc * world)
        place = self._place(query)
        norms = fields().response_norms
        felt = regional_factor(points, shares, norms, query.latitude, query.longitude)
        factor = np.asarray(place.pattern * felt)
        return _changed(place, self._above(query), change * self.sensitivity, factor)


PHYSICS = Physics()
PUBLISHED_LIKE = Physics(sensitivity=0.585, bias_degc=0.66)
"""The world of the published records: a climate model that warms by little and is warmer than was
observed. Both numbers fitted to those records (medians), docs/simulators/climate.md."""


def global_temperature(
    year: ArrayLike,
    scenario: ArrayLike,
    *,
    delta_co2: ArrayLike = 0.0,
    delta_ch4: ArrayLike = 0.0,
    delta_so2: ArrayLike = 0.0,
    delta_bc: ArrayLike = 0.0,
    sensitivity: float = 1.0,
) -> Changed:
    """Compute global mean warming above 1850-1900; changes are of the world's emissions.

    The effects of greenhouse gases and of aerosols add. Before 2015 changes have no effect.
    """
    years, which, co2, ch4, so2, bc = aligned(
        year, scenario_index(scenario), delta_co2, delta_ch4, delta_so2, delta_bc
    )
    base = warming.baseline(which, years)
    change = np.zeros_like(base)
    later = years >= warming.CHANGE_FROM
    if later.any():
        at = (which[later], years[later])
        change[later] = warming.greenhouse_change(*at, co2[later], ch4[later])
        change[later] += warming.aerosol_change(*at, so2[later], bc[later])
    base, change = base * sensitivity, change * sensitivity
    return Changed(_spread(base + change), _spread(base), _spread(change), _spread(change))


def global_aerosol_change(
    year: ArrayLike,
    scenario: ArrayLike,
    delta_so2: ArrayLike,
    delta_bc: ArrayLike,
    modify_points: ArrayLike,
) -> Estimate:
    """Compute what SO2 and BC emissions changed around the points do to the global mean."""
    years, which, so2, bc = aligned(year, scenario_index(scenario), delta_so2, delta_bc)
    points = np.asarray(modify_points, dtype=np.float64).reshape(-1, 2)
    world = point_shares(points, fields().emissions).sum()
    return _spread(warming.aerosol_change(which, years, so2 * world, bc * world))


def is_land(latitude: ArrayLike, longitude: ArrayLike) -> NDArray[np.bool_]:
    """Tell which places are on land."""
    lat, lon = aligned(latitude, longitude)
    return fields().is_land(lat, lon)


@dataclass(frozen=True)
class _Place:
    observed: Array
    pattern: Array
    pattern_sd: Array


def _query(
    latitude: ArrayLike,
    longitude: ArrayLike,
    year: ArrayLike,
    scenario: ArrayLike,
    land: ArrayLike | None,
    *changes: ArrayLike,
) -> tuple[Query, tuple[Array, ...]]:
    lat, lon, years, which, *rest = aligned(
        latitude, longitude, year, scenario_index(scenario), *changes
    )
    if land is None:
        on_land = fields().is_land(lat, lon)
    else:
        on_land = np.broadcast_to(np.asarray(land, dtype=np.bool_), lat.shape)
    return Query(lat, lon, years, which, on_land), tuple(rest)


def _local(place: _Place, warmer: Array) -> Estimate:
    """Combine members' spread and the pattern's uncertainty, taken as independent."""
    spread = _spread(warmer)
    mean = place.observed + place.pattern * spread.mean
    by_pattern = Z90 * place.pattern_sd * spread.mean
    below = np.hypot(place.pattern * (spread.mean - spread.low), by_pattern)
    above = np.hypot(place.pattern * (spread.high - spread.mean), by_pattern)
    return Estimate(mean, mean - below, mean + above)


def _changed(place: _Place, above: Array, change: Array, factor: Array) -> Changed:
    """Compute a local change; ``factor`` is the local per the global one."""
    whole = _spread(change)
    baseline = _local(place, above)
    local = Estimate(factor * whole.mean, factor * whole.low, factor * whole.high)
    ratio = (factor / place.pattern)[:, None]
    after = _local(place, above + ratio * change)
    return Changed(after, baseline, local, whole)


def _spread(values: Array) -> Estimate:
    ordered = np.sort(values, axis=-1)
    return Estimate(
        values.mean(axis=-1, dtype=np.float64), percentile(ordered, 5), percentile(ordered, 95)
    )


def scenario_index(scenario: ArrayLike) -> NDArray[np.intp]:
    """Turn scenario names, or their numbers, into numbers."""
    given = np.asarray(scenario)
    if given.dtype.kind == "i":
        return given.astype(np.intp)
    names, inverse = np.unique(given, return_inverse=True)
    numbers = np.array([SCENARIOS.index(str(name)) for name in names], dtype=np.intp)
    return np.asarray(numbers[inverse].reshape(given.shape))


def aligned(*values: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Broadcast to one-dimensional arrays of one length; whole numbers stay whole."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value)) for value in values))
    return tuple(a.astype(np.intp if a.dtype.kind in "iu" else np.float64) for a in arrays)
