"""The weather of a single year: how far annual means scatter around the expected one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from simulators.base import Spread
from simulators.climate.answers import DECIMALS
from simulators.climate.temperature import Z90
from simulators.shapes import ToolModel

GLOBAL_SD_DEGC = 0.25 / Z90
"""Of the global mean: +-0.25 degC holds 90 % of single years (IPCC AR6 WGI, SPM, footnote 27)."""


def local_sd_degc(latitude: float) -> float:
    """Of a place: 0.3 degC at the equator, 1.2 degC at the poles, as the handbook says it."""
    return 0.3 + 0.9 * math.sin(math.radians(latitude)) ** 2


def with_weather(outputs: ToolModel, spreads: Mapping[str, Spread]) -> ToolModel:
    """Ranges of levels widened by the weather, taken as independent; changes have none of it."""
    values = outputs.model_dump()
    for name, spread in spreads.items():
        if "change" in name:
            continue
        sd = GLOBAL_SD_DEGC if name == "warming_degc" else local_sd_degc(values["latitude"])
        for end, side in ((spread.low, -1), (spread.high, 1)):
            half = math.hypot(values[end] - values[name], Z90 * sd)
            values[end] = round(values[name] + side * half, DECIMALS)
    return type(outputs).model_validate(values)
