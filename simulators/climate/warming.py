"""Global mean warming of the FaIR members: by year, scenario and change of emissions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulators.climate.fields import Array, open_asset

SCENARIOS = ("ssp126", "ssp245", "ssp370", "ssp585")
FIRST_YEAR, LAST_YEAR = 1850, 2100
CHANGE_FROM = 2015
"""Percent changes act on the emissions of this year and all after it."""

NODES = (-100.0, -70.0, 0.0, 70.0, 100.0)
"""Changes of emissions (percent) at which FaIR was run, for each of the two gases of a surface."""

CLIMATOLOGY_YEARS = (1979, 2014)

FINENESS_DEGC = 2e-4
"""Step of the stored changes."""

BLACK_CARBON_EFFICACY = 0.78
"""Warming by fossil-fuel black carbon relative to CO2 of the same forcing (Hansen et al. 2005,
doi:10.1029/2005JD005776)."""


@dataclass(frozen=True)
class Responses:
    """FaIR's results in degC, single precision.

    ``baseline``: above 1850-1900, (scenarios, years 1850-2100, members); up to 2014 they agree.
    ``greenhouse`` and ``aerosol``: change against it, (scenarios, years 2015-2100, nodes of the
    first gas times nodes of the second, members), for CO2 and CH4, and for SO2 and BC.
    """

    baseline: NDArray[np.float32]
    greenhouse: NDArray[np.float32]
    aerosol: NDArray[np.float32]

    def climatology_level(self) -> NDArray[np.float32]:
        """Return each member's warming in the years of the observed climatology."""
        first, last = (year - FIRST_YEAR for year in CLIMATOLOGY_YEARS)
        return np.asarray(self.baseline[0, first : last + 1].mean(axis=0))


@lru_cache(maxsize=1)
def responses() -> Responses:
    """Read FaIR's results, once a process."""
    file = open_asset("responses.npz")

    def surface(name: str) -> NDArray[np.float32]:
        whole = np.cumsum(file[name], axis=-1, dtype=np.int64)
        degrees = (whole * FINENESS_DEGC).astype(np.float32)
        return np.ascontiguousarray(np.moveaxis(degrees, -1, 1))

    return Responses(file["baseline"], surface("greenhouse"), surface("aerosol"))


def baseline(scenario: NDArray[np.intp], year: NDArray[np.intp]) -> Array:
    """Read warming above 1850-1900 without changes: (queries, members), degC."""
    return np.asarray(responses().baseline[scenario, year - FIRST_YEAR], dtype=np.float64)


def greenhouse_change(
    scenario: NDArray[np.intp],
    year: NDArray[np.intp],
    co2_percent: Array,
    ch4_percent: Array,
) -> Array:
    """Compute the global change, degC, by CO2 and CH4 emissions changed from 2015 on.

    Args:
        scenario: index in ``SCENARIOS``, a query each.
        year: calendar year from 2015 on, a query each.
        co2_percent: change of CO2 emissions, percent of the scenario's.
        ch4_percent: change of CH4 emissions, percent of the scenario's.

    Returns:
        degC by (queries, members).
    """
    return _surface(responses().greenhouse, scenario, year, co2_percent, ch4_percent)


def aerosol_change(
    scenario: NDArray[np.intp],
    year: NDArray[np.intp],
    so2_percent: Array,
    bc_percent: Array,
) -> Array:
    """Compute the global change by the world's SO2 and BC emissions changed from 2015 on.

    Shape (queries, members), degC; black carbon counts with its efficacy.
    """
    sulphate = _surface(responses().aerosol, scenario, year, so2_percent, np.zeros_like(bc_percent))
    both = _surface(responses().aerosol, scenario, year, so2_percent, bc_percent)
    return np.asarray(sulphate + BLACK_CARBON_EFFICACY * (both - sulphate))


def lagrange(percent: Array) -> Array:
    """Weigh the nodes at these changes, (queries, nodes): the polynomial through them.

    At a node the weights are exactly 0 and 1, so no change gives exactly the baseline.
    """
    nodes = np.asarray(NODES)
    weights = np.ones((len(percent), len(nodes)))
    for own in range(len(nodes)):
        for other in range(len(nodes)):
            if other != own:
                weights[:, own] *= (percent - nodes[other]) / (nodes[own] - nodes[other])
    return weights


def _surface(
    surface: NDArray[np.float32],
    scenario: NDArray[np.intp],
    year: NDArray[np.intp],
    first: Array,
    second: Array,
) -> Array:
    """Interpolate; queries of one scenario and year share a matrix product."""
    count = len(first)
    weights = (lagrange(first)[:, :, None] * lagrange(second)[:, None, :]).reshape(count, -1)
    weights = weights.astype(np.float32)
    years = surface.shape[1]
    group = scenario * years + (year - CHANGE_FROM)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    result = np.empty((count, surface.shape[-1]), dtype=np.float32)
    for part in np.split(order, starts[1:]):
        row, column = divmod(int(group[part[0]]), years)
        result[part] = weights[part] @ surface[row, column]
    return np.asarray(result, dtype=np.float64)


def percentile(values: Array, percent: float) -> Array:
    """Interpolate a percentile over members, the last axis, which must be sorted."""
    position = percent / 100 * (values.shape[-1] - 1)
    low = min(int(position), values.shape[-1] - 2)
    part = position - low
    return np.asarray(values[..., low] * (1 - part) + values[..., low + 1] * part)
