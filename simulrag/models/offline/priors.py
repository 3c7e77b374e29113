"""What a well-read person expects before any simulation: the offline model's stated prior.

Every number below comes from general textbooks and assessment reports of the three fields, named
where it stands. None was fitted to a benchmark or to a simulator, so the answers drawn from it are
right on some claims and wrong on others. ``spread`` is one standard deviation of how far such an
expectation is usually off; for ``scale="ratio"`` it is a standard deviation of the logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal


@dataclass(frozen=True)
class Expectation:
    """A distribution over one asked quantity: normal, or log-normal for ``scale="ratio"``.

    With "ratio", ``offset`` is subtracted after drawing (growth in percent is a ratio less 1).
    """

    mean: float
    spread: float
    scale: Literal["difference", "ratio"] = "difference"
    offset: float = 0.0

    def at(self, deviation: float) -> float:
        """The value that lies ``deviation`` standard deviations from the mean."""
        if self.scale == "ratio":
            return self.mean * math.exp(self.spread * deviation) - self.offset
        return self.mean + self.spread * deviation


@dataclass(frozen=True)
class Traffic:
    """Interventions on a signalised urban road, as factors of today's value."""

    speed_factor: float = 1.0
    demand_factor: float = 1.0
    capacity_factor: float = 1.0
    green_wave: bool = False


RUNNING_SHARE = 0.65
"""Share of arterial travel time spent moving, the rest signal delay (Highway Capacity Manual)."""
LIMIT_PASS_THROUGH = 0.7
"""How far a lower limit slows traffic that mostly drives below it."""
COORDINATION_CUT = 0.6
"""Share of signal delay that coordination or priority is expected to remove."""
VOLUME_TO_CAPACITY = 0.8
"""A busy, not saturated, road."""


def traffic(change: Traffic) -> dict[str, Expectation]:
    """Expected changes in percent: ``travel_time``, ``idling``, ``co2``, ``fuel``, ``nox``.

    Running time follows the curve of the Bureau of Public Roads (1964), signal delay the square of
    the load; emissions follow the distance driven and the number of stops.
    """
    load = change.demand_factor / change.capacity_factor
    congestion = (1 + 0.15 * (VOLUME_TO_CAPACITY * load) ** 4) / (1 + 0.15 * VOLUME_TO_CAPACITY**4)
    running = (1 + LIMIT_PASS_THROUGH * (1 / change.speed_factor - 1)) * congestion
    delay = load**2 * (1 - COORDINATION_CUT * change.green_wave)
    travel = RUNNING_SHARE * running + (1 - RUNNING_SHARE) * delay
    per_vehicle = (1 - 0.15 * change.green_wave) * (1 - 0.3 * (1 - change.speed_factor))
    emitted = change.demand_factor * per_vehicle * change.capacity_factor**-0.1
    return {
        "travel_time": Expectation(100 * (travel - 1), 8.0),
        "idling": Expectation(max(100 * (delay - 1), -95.0), 14.0),
        "co2": Expectation(100 * (emitted - 1), 7.0),
        "fuel": Expectation(100 * (emitted - 1), 7.0),
        "nox": Expectation(110 * (emitted - 1), 9.0),
    }


@dataclass(frozen=True)
class Climate:
    """A place, two years and relative changes of emissions (0.2 is 20 percent more)."""

    latitude_deg: float | None = None
    scenario: str = "ssp245"
    past_year: int = 2000
    future_year: int = 2060
    co2: float = 0.0
    ch4: float = 0.0
    so2: float = 0.0
    black_carbon: float = 0.0


ZONAL_MEAN_DEGC = ((0, 27.0), (10, 26.5), (20, 25.0), (30, 20.0), (40, 14.0), (50, 8.0), (60, 1.0))
"""Annual mean surface air temperature by absolute latitude (climatology textbooks)."""
ANYWHERE_DEGC = Expectation(17.0, 6.0)
"""Where people live, when nothing about the place is known."""
WARMING_DEGC = {
    "ssp119": (1.5, 1.6, 1.4),
    "ssp126": (1.5, 1.7, 1.8),
    "ssp245": (1.5, 2.0, 2.7),
    "ssp370": (1.5, 2.1, 3.6),
    "ssp585": (1.6, 2.4, 4.4),
}
"""Global mean above 1850-1900 in 2030, 2050 and 2090 (IPCC AR6 WGI, table SPM.1)."""
LAND_AMPLIFICATION = 1.3
TCRE_DEGC_PER_GTCO2 = 0.45e-3
CO2_GT_PER_YEAR = 40.0


def interpolate(x: float, points: tuple[tuple[float, float], ...]) -> float:
    """Straight lines between points, flat outside them."""
    if x <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[-1][1]


def global_warming_degc(scenario: str, year: float) -> float:
    """Global mean above 1850-1900: 0.2 degC a decade up to 2020, then the scenario's own path."""
    if year <= 2020:
        return 1.15 - 0.02 * (2020 - year)
    near, middle, far = WARMING_DEGC.get(scenario, WARMING_DEGC["ssp245"])
    return interpolate(year, ((2020, 1.15), (2030, near), (2050, middle), (2090, far)))


def climate(setting: Climate) -> dict[str, Expectation]:
    """Expected temperatures and changes in degC.

    ``past`` and ``baseline`` are levels, ``projected`` the level with greenhouse gases changed,
    ``aerosol_level`` with aerosols changed, ``change`` the difference from the past year,
    ``aerosol_change`` the effect of the aerosol change alone, ``difference`` greenhouse gas case
    less aerosol case. CO2 acts through cumulative emissions, methane and aerosols through their
    present forcing (AR6 WGI, figure SPM.2: methane +0.5, sulphur -0.5, black carbon +0.1 degC).
    """
    level = ANYWHERE_DEGC
    if setting.latitude_deg is not None:
        latitude = abs(setting.latitude_deg)
        level = Expectation(interpolate(latitude, (*ZONAL_MEAN_DEGC, (90, -22.0))), 2.5)
    year = setting.future_year
    trend = LAND_AMPLIFICATION * (
        global_warming_degc(setting.scenario, year)
        - global_warming_degc(setting.scenario, setting.past_year)
    )
    emitted = CO2_GT_PER_YEAR * max(year - 2020, 0)
    gases = LAND_AMPLIFICATION * (TCRE_DEGC_PER_GTCO2 * emitted * setting.co2 + 0.5 * setting.ch4)
    aerosols = LAND_AMPLIFICATION * (-0.5 * setting.so2 + 0.1 * setting.black_carbon)
    future = level.mean + trend
    return {
        "past": level,
        "baseline": Expectation(future, level.spread),
        "projected": Expectation(future + gases, level.spread),
        "aerosol_level": Expectation(future + aerosols, level.spread),
        "change": Expectation(trend + gases, 0.5),
        "gas_change": Expectation(gases, 0.15),
        "aerosol_change": Expectation(aerosols, 0.12),
        "difference": Expectation(gases - aerosols, 0.2),
    }


@dataclass(frozen=True)
class Influenza:
    """One season: basic reproduction number, prior immunity as a share, states and seasonality."""

    reproduction: float = 1.8
    immunity: float = 0.3
    states: int = 1
    seasonality: Literal["none", "moderate", "high"] = "none"
    metric: Literal["incidence", "prevalence"] = "incidence"
    schools_closed: bool = False


GENERATION_DAYS = 3.0
"""Serial interval of influenza (about 2.6 to 3.6 days)."""
STATE_POPULATION = 6e6
HOSPITALISED_SHARE = 0.003
"""Admissions per infection, of all ages, with many infections unnoticed."""
SEASONAL_CUT = {"none": 1.0, "moderate": 0.93, "high": 0.86}
"""Transmission in early autumn against the yearly peak."""
SEED_SHARE = 1e-4
CLOSURE_RELIEF = 0.75
"""Peak left by a school closure of some weeks (reviews find cuts of a few to some ten percent)."""
VACCINE_EFFECTIVENESS = 0.4
"""Of a seasonal influenza vaccine against illness, in an average year."""


def influenza(season: Influenza) -> dict[str, Expectation]:
    """Expected course: ``growth`` (percent in four weeks), ``peak`` (cases), ``weeks``, ``burden``.

    Exponential growth at (R - 1) / generation time, the peak of an SIR epidemic, 1 - (1 + ln R)/R
    of the population infected at once (Kermack and McKendrick), growth damped by depletion.
    """
    effective = season.reproduction * (1 - season.immunity) * SEASONAL_CUT[season.seasonality]
    rate = (effective - 1) / GENERATION_DAYS
    in_hospital = STATE_POPULATION * season.states * HOSPITALISED_SHARE
    share = SEED_SHARE
    weeks = 0.5
    if effective > 1.02:
        share = max(1 - (1 + math.log(effective)) / effective, SEED_SHARE)
        weeks = min(max(math.log(share / SEED_SHARE) / rate / 7, 3.0), 24.0)
    in_hospital *= CLOSURE_RELIEF if season.schools_closed else 1.0
    stay = 2.0 if season.metric == "prevalence" else 1.0
    four_weeks = math.exp(min(28 * rate * 0.6, math.log(30)))
    return {
        "growth": Expectation(100 * four_weeks, 0.35, "ratio", offset=100.0),
        "peak": Expectation(max(in_hospital * share * stay / 7, 1.0), 0.6, "ratio"),
        "weeks": Expectation(weeks, 0.25, "ratio"),
        "burden": Expectation(max(in_hospital * share * stay, 5.0), 0.6, "ratio"),
        "effective": Expectation(effective, 0.0),
    }


UNKNOWN_CHANGE_PERCENT = Expectation(0.0, 20.0)
"""For subjects outside the three fields: a change of either sign, seldom beyond 40 percent."""
UNKNOWN_LEVEL = Expectation(50.0, 0.8, "ratio")
