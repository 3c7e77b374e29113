"""The committed assets, read once a process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.base import MissingEngineError
from simulators.climate.aerosols import EmissionMap, emission_map
from simulators.climate.grids import Array, bilinear
from simulators.climate.warming import Responses

ASSETS = Path(__file__).parent / "assets"
EMISSION_COLUMNS = ("co2_gt", "ch4_mt", "so2_mt", "bc_mt")
"""Columns of emissions.csv, the world's emissions a year; the emulator reads them."""

FINENESS_DEGC = 2e-4
"""Step of the stored changes."""

LAPSE_DEGC_PER_M = 0.0065
"""Fall of temperature with height, the standard atmosphere's (ISO 2533)."""


@dataclass(frozen=True)
class Fields:
    """The grids, each with both poles and from 180 W unless said otherwise."""

    climatology_degc: NDArray[np.float32]
    coarse_relief_m: NDArray[np.int16]
    relief_m: NDArray[np.int16]
    land: NDArray[np.uint8]
    """Packed bits of cells of 0.05 degrees, rows from the south."""
    pattern_land: NDArray[np.float32]
    pattern_sea: NDArray[np.float32]
    pattern_sd: NDArray[np.float32]
    response_norms: NDArray[np.float32]
    emissions: EmissionMap

    def is_land(self, latitude: Array, longitude: Array) -> NDArray[np.bool_]:
        """True where at least half of the cell of 0.05 degrees around the place is land."""
        rows, columns = self.land.shape[0], self.land.shape[1] * 8
        row = np.minimum(((latitude + 90) / 180 * rows).astype(np.intp), rows - 1)
        column = (np.mod(longitude + 180, 360) / 360 * columns).astype(np.intp) % columns
        bits = self.land[row, column // 8] >> (7 - column % 8).astype(np.uint8)
        return np.asarray(bits & 1, dtype=np.bool_)

    def observed(self, latitude: Array, longitude: Array) -> Array:
        """Mean temperature of 1979-2014, degC, brought from the coarse to the finer relief."""
        coarse = bilinear(self.coarse_relief_m, latitude, longitude)
        fine = bilinear(self.relief_m, latitude, longitude)
        level = bilinear(self.climatology_degc, latitude, longitude)
        return np.asarray(level + LAPSE_DEGC_PER_M * (coarse - fine))

    def pattern(self, latitude: Array, longitude: Array, land: NDArray[np.bool_]) -> Array:
        """Local per global warming."""
        on_land = bilinear(self.pattern_land, latitude, longitude)
        at_sea = bilinear(self.pattern_sea, latitude, longitude)
        return np.asarray(np.where(land, on_land, at_sea))

    def pattern_spread(self, latitude: Array, longitude: Array) -> Array:
        """Standard deviation of the pattern."""
        return bilinear(self.pattern_sd, latitude, longitude)


@lru_cache(maxsize=1)
def fields() -> Fields:
    """The grids."""
    file = _open("fields.npz")
    return Fields(
        climatology_degc=np.asarray(file["climatology_centidegc"] / 100, dtype=np.float32),
        coarse_relief_m=file["coarse_relief_m"],
        relief_m=file["relief_m"],
        land=file["land"],
        pattern_land=file["pattern_land"],
        pattern_sea=file["pattern_sea"],
        pattern_sd=file["pattern_sd"],
        response_norms=file["response_norms"],
        emissions=emission_map(file["emission_shares"]),
    )


@lru_cache(maxsize=1)
def responses() -> Responses:
    """FaIR's results."""
    file = _open("responses.npz")

    def surface(name: str) -> NDArray[np.float32]:
        whole = np.cumsum(file[name], axis=-1, dtype=np.int64)
        degrees = (whole * FINENESS_DEGC).astype(np.float32)
        return np.ascontiguousarray(np.moveaxis(degrees, -1, 1))

    return Responses(file["baseline"], surface("greenhouse"), surface("aerosol"))


def _open(name: str) -> Any:
    path = ASSETS / name
    if not path.is_file():
        raise MissingEngineError(
            f"{path} is missing: it belongs to the source tree; 'make assets' makes it again"
        )
    return np.load(path, allow_pickle=False)
