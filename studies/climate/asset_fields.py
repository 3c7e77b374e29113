"""Making the gridded assets: climatology, relief, land, pattern of warming, emission shares."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.climate.fields import (
    Array,
    bilinear,
    kernel,
    node_latitudes,
    node_longitudes,
)

EVEN_SHARE = 0.1
"""Part of the aerosol emissions that is spread evenly by area."""

_ITUR = "itur/data"
_IRIS = "iris_sample_data/sample_data"
_MASK = "global_land_mask/globe_combined_mask_compressed.npz"


def climatology(wheels: Path) -> Array:
    """Annual mean temperature at 2 m, 1979-2014, degC, 0.75 degrees (ITU-R P.1510-1)."""
    kelvin = _itur(wheels, "1510/v1_t_annual")
    return kelvin[:, :-1] - 273.15


def relief(wheels: Path, step_degrees: float) -> Array:
    """Mean height above sea level (m) of squares of this size around grid nodes (ITU-R P.1511-2).

    The source has a value every 1/12 degree from 90.125 N and 180.125 W; the sea is 0 m.
    """
    fine = _itur(wheels, "1511/v2_topo")
    every = round(step_degrees * 12)
    weights = np.ones(every + 1)
    weights[[0, -1]] = 0.5
    weights /= weights.sum()
    window = np.arange(every + 1) + round(1.5 - step_degrees * 6)
    rows = np.arange(round(180 / step_degrees) + 1)[:, None] * every + window
    columns = np.arange(round(360 / step_degrees))[:, None] * every + window
    by_row = np.einsum("w,nwc->nc", weights, fine[np.clip(rows, 0, len(fine) - 1)])
    both = np.einsum("w,rnw->rn", weights, by_row[:, np.mod(columns, 4320)])
    return np.asarray(both[::-1])


def land_mask(wheels: Path) -> NDArray[np.bool_]:
    """True where at least half of a cell of 0.05 degrees is land; rows from the south."""
    with np.load(wheels / _MASK) as file:
        sea = file["mask"]
    rows, columns = sea.shape[0] // 6, sea.shape[1] // 6
    share = np.zeros((rows, columns))
    for part in range(6):
        share += (~sea[part::6]).reshape(rows, columns, 6).sum(axis=2)
    return np.asarray((share >= 18)[::-1])


def warming_pattern(wheels: Path, land: NDArray[np.bool_]) -> dict[str, Array]:
    """Local warming per degree of global warming of HadGEM2, 1.25 x 1.875 degrees.

    From the years 2098 of A1B and E1 against a pre-industrial year, by regression through the
    origin. Land and sea are separate fields, each continued over the other, so that a coastal
    place reads its own kind. ``sd`` is what the two scenarios disagree by, smoothed: the
    uncertainty of the pattern with the weather of single years in it.
    """
    from scipy.ndimage import gaussian_filter

    before = _field(wheels, "pre-industrial")
    a1b, e1 = _field(wheels, "A1B.2098") - before, _field(wheels, "E1.2098") - before
    large, small = area_mean(a1b), area_mean(e1)
    pattern = (a1b * large + e1 * small) / (large**2 + small**2)
    rows, columns = pattern.shape
    lat, lon = np.meshgrid(node_latitudes(rows), node_longitudes(columns), indexing="ij")
    is_land = land_at(land, lat.ravel(), lon.ravel()).reshape(lat.shape)
    modes = ("nearest", "wrap")
    fields = {"land": _continued(pattern, is_land), "sea": _continued(pattern, ~is_land)}
    whole = np.where(is_land, fields["land"], fields["sea"])
    fields = {name: field / area_mean(whole) for name, field in fields.items()}
    difference = a1b / large - e1 / small
    spread = np.sqrt(gaussian_filter(difference**2, 6, mode=modes) / 2)
    return {**fields, "sd": np.asarray(spread), "whole": whole / area_mean(whole)}


def response_norms(whole: Array) -> Array:
    """Global mean of aerosol kernel times pattern for points on a grid of 5 degrees."""
    lat, lon = node_latitudes(37), node_longitudes(72)
    places = np.stack(np.meshgrid(node_latitudes(61), node_longitudes(120), indexing="ij"), -1)
    flat = places.reshape(-1, 2)
    pattern = bilinear(whole, flat[:, 0], flat[:, 1])
    norms = np.empty((37, 72))
    for row, latitude in enumerate(lat):
        points = np.stack([lon, np.full_like(lon, latitude)], -1)
        product = kernel(points, flat[:, 0], flat[:, 1]) * pattern[:, None]
        norms[row] = [area_mean(product[:, k].reshape(61, 120)) for k in range(72)]
    return norms


def emission_shares(latitude: Array, longitude: Array, population: Array) -> Array:
    """Share of aerosol emissions a cell of 2 degrees: by people, and in part even by area."""
    rows, columns = 90, 180
    row = np.minimum(((latitude + 90) / 2).astype(int), rows - 1)
    column = np.minimum(((longitude + 180) / 2).astype(int), columns - 1)
    people = np.zeros((rows, columns))
    np.add.at(people, (row, column), population)
    edges = np.radians(np.linspace(-90, 90, rows + 1))
    area = np.repeat(np.diff(np.sin(edges))[:, None], columns, axis=1)
    return np.asarray((1 - EVEN_SHARE) * people / people.sum() + EVEN_SHARE * area / area.sum())


def land_at(land: NDArray[np.bool_], latitude: Array, longitude: Array) -> NDArray[np.bool_]:
    """The mask's cell of each place."""
    rows, columns = land.shape
    row = np.minimum(((latitude + 90) / 180 * rows).astype(np.intp), rows - 1)
    column = (np.mod(longitude + 180, 360) / 360 * columns).astype(np.intp) % columns
    return np.asarray(land[row, column])


def area_mean(grid: NDArray[Any]) -> float:
    """Mean over the sphere: each row counts for the area of its band, poles with half a band."""
    rows = grid.shape[0]
    edges = np.clip(
        np.linspace(-90, 90, rows)[:, None] + np.array([-0.5, 0.5]) * 180 / (rows - 1), -90, 90
    )
    weights = np.diff(np.sin(np.radians(edges)), axis=1)[:, 0]
    return float((grid.mean(axis=1) * weights).sum() / weights.sum())


def _continued(field: Array, keep: NDArray[np.bool_]) -> Array:
    """The field where ``keep``, lightly smoothed, and continued smoothly elsewhere."""
    from scipy.ndimage import gaussian_filter

    modes = ("nearest", "wrap")
    result = np.full(field.shape, np.nan)
    for sigma in (0.7, 2.0, 5.0, 15.0, 60.0):
        weight = gaussian_filter(keep.astype(float), sigma, mode=modes)
        smooth = gaussian_filter(np.where(keep, field, 0.0), sigma, mode=modes)
        known = weight > 0.02
        todo = np.isnan(result) & known
        result[todo] = smooth[todo] / weight[todo]
    return result


def _itur(wheels: Path, name: str) -> Array:
    with np.load(wheels / _ITUR / f"{name}.npz") as file:
        return np.asarray(file["arr_0"], dtype=np.float64)


def _field(wheels: Path, name: str) -> Array:
    """One field of a Met Office PP file (UM documentation paper F03), on our grid, in kelvin."""
    data = (wheels / _IRIS / f"{name}.pp").read_bytes()
    header = np.frombuffer(data[4:184], ">i4")
    rows, columns = int(header[17]), int(header[18])
    size = struct.unpack(">i", data[264:268])[0]
    values = np.frombuffer(data[268 : 268 + size], ">f4")[: rows * columns]
    from_greenwich = values.reshape(rows, columns).astype(np.float64)
    return np.roll(from_greenwich, columns // 2, axis=1)
