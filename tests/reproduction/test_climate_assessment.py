"""The climate simulator against the assessment of IPCC AR6 (working group I) and plain physics.

Numbers: Table SPM.1 and Table 4.5 (warming by scenario), A.1.2 (warming in 2011-2020), D.1.1
(transient response to cumulative emissions), section 4.5.1 (Arctic amplification, land and sea).
"""

from __future__ import annotations

import numpy as np
import pytest

from simulators.climate import temperature, warming
from simulators.climate.fields import ASSETS, Array, fields
from simulators.climate.temperature import PHYSICS
from simulators.climate.warming import SCENARIOS

BEST = {"ssp126": 1.8, "ssp245": 2.7, "ssp370": 3.6, "ssp585": 4.4}
VERY_LIKELY = {
    "ssp126": (1.3, 2.4),
    "ssp245": (2.1, 3.5),
    "ssp370": (2.8, 4.6),
    "ssp585": (3.3, 5.7),
}
LAT, LON = (
    axis.ravel()
    for axis in np.meshgrid(np.arange(-89.0, 90, 2), np.arange(-179.0, 180, 2), indexing="ij")
)


def members(first: int, last: int, scenario: str) -> Array:
    """Mean warming of the years, a value a member."""
    years = np.arange(first, last + 1)
    which = np.full_like(years, SCENARIOS.index(scenario))
    return warming.baseline(which, years).mean(axis=0)


def mean(values: Array, where: Array | None = None) -> float:
    weights = np.cos(np.radians(LAT)) * (1 if where is None else where)
    return float((values * weights).sum() / weights.sum())


def pattern() -> Array:
    grids = fields()
    return grids.pattern(LAT, LON, grids.is_land(LAT, LON))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_warming_at_the_end_of_the_century(scenario: str) -> None:
    found = members(2081, 2100, scenario)
    low, high = VERY_LIKELY[scenario]
    assert low <= found.mean() <= high
    assert found.mean() == pytest.approx(BEST[scenario], abs=0.3)
    assert np.percentile(found, 5) == pytest.approx(low, abs=0.5)
    assert np.percentile(found, 95) == pytest.approx(high, abs=0.5)


def test_warming_now() -> None:
    assert 0.95 <= members(2011, 2020, "ssp245").mean() <= 1.20


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_transient_response_to_cumulative_co2(scenario: str) -> None:
    """Warming in 2100 by all CO2 emitted in 2015-2100, over that CO2 (assessed: 0.27 to 0.63).

    What a member emits is what makes it follow the scenario's concentrations.
    """
    which = np.array([SCENARIOS.index(scenario)])
    none = warming.greenhouse_change(which, np.array([2100]), np.array([-100.0]), np.array([0.0]))[
        0
    ]
    emitted = np.load(ASSETS / "responses.npz")["emitted_co2_gt"][which[0]]
    assert 0.27 <= (-none / emitted).mean() * 1000 <= 0.63


@pytest.mark.parametrize("percent", [-100.0, -10.0, 10.0])
@pytest.mark.parametrize(
    ("scenario", "emitted"),
    [("ssp126", 1194.0), ("ssp245", 2973.0), ("ssp370", 5529.0), ("ssp585", 7987.0)],
)
def test_a_share_of_the_emissions_warms_by_its_part(
    scenario: str, emitted: float, percent: float
) -> None:
    """The same against the tabulated emissions of 2015-2100 (GtCO2, RCMIP 5.1.0)."""
    found = temperature.global_temperature(2100, scenario, delta_co2=percent).change.mean[0]
    assert 0.27 <= found / (emitted * percent / 100) * 1000 <= 0.63


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_warming_all_but_stops_without_co2(scenario: str) -> None:
    """AR6 section 4.7.1.1: within 0.3 degC without further CO2; here without CH4 either."""
    stopped = {"delta_co2": -100.0, "delta_ch4": -100.0}
    found = temperature.global_temperature([2030, 2100], scenario, **stopped).temperature.mean
    assert found[1] - found[0] < 0.3


def test_cooling_by_aerosols_masks_warming() -> None:
    """AR6 figure SPM.2: sulphur dioxide cooled 2010-2019 by 0.1 to 0.9 degC."""
    found = temperature.global_temperature(2025, "ssp245", delta_so2=-100.0).change.mean[0]
    assert 0.1 <= found <= 0.9


def test_the_arctic_warms_two_to_four_times_as_much() -> None:
    assert 2 <= mean(pattern(), LAT > 66.5) <= 4


def test_land_warms_more_than_the_sea() -> None:
    land = fields().is_land(LAT, LON)
    ratio = mean(pattern(), land) / mean(pattern(), ~land)
    assert 1.3 <= ratio <= 1.9


def test_local_warming_averages_to_global_warming() -> None:
    before = PHYSICS.history_temperature(LAT, LON, 1990)
    after = PHYSICS.future_temperature(LAT, LON, 2090, "ssp370")
    whole = temperature.global_temperature([1990, 2090], ["ssp370", "ssp370"]).baseline.mean
    assert mean(after.mean - before.mean) == pytest.approx(whole[1] - whole[0], rel=0.03)


def test_observed_global_mean_temperature() -> None:
    """14.3 degC for 1979-2014 in the reanalyses (Jones et al. 1999 and later: about 14)."""
    assert mean(PHYSICS.history_temperature(LAT, LON, 1997).mean) == pytest.approx(14.2, abs=0.5)


def test_large_eruptions_cool() -> None:
    """Krakatau 1883 and Pinatubo 1991."""
    found = temperature.global_temperature([1882, 1884, 1990, 1992], "ssp126").baseline.mean
    assert found[1] < found[0] - 0.1
    assert found[3] < found[2] - 0.05


@pytest.mark.parametrize("gas", ["delta_co2", "delta_ch4"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_more_emissions_warm_more(scenario: str, gas: str) -> None:
    steps = np.linspace(-100, 100, 81)
    for year in (2030, 2060, 2100):
        found = temperature.global_temperature(year, scenario, **{gas: steps}).temperature.mean
        assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_more_sulphur_cools_and_the_change_scales(scenario: str) -> None:
    steps = np.array([-60.0, -30.0, -10.0, 0.0, 10.0, 30.0, 60.0])
    point = [[77.2, 28.6]]
    found = PHYSICS.diy_aerosol(
        28.6, 77.2, 2050, scenario, delta_so2=steps, delta_bc=0.0, modify_points=point
    ).change.mean
    assert (np.diff(found) < 0).all()
    assert found[3] == 0
    assert found[5] / found[4] == pytest.approx(3, rel=0.1)


def test_an_aerosol_change_is_felt_most_near_its_place() -> None:
    delhi = {"delta_so2": -20.0, "delta_bc": 0.0, "modify_points": [[77.2, 28.6]]}
    at = ([28.6, 30.0, -20.0], [77.2, 10.0, -60.0])
    found = PHYSICS.diy_aerosol(*at, 2050, "ssp370", **delhi).change.mean
    assert found[0] > found[1] > found[2] > 0


def test_taking_away_asian_sulphur_warms() -> None:
    """By less than removing all aerosols of South and East Asia does in two models: 0.26 degC
    (Merikanto et al. 2021, doi:10.5194/acp-21-5865-2021). Shares by people are too even."""
    points = [[lon, lat] for lon in (75, 82, 104, 112, 118) for lat in (22, 28, 34)]
    asia = {"delta_so2": -100.0, "delta_bc": 0.0, "modify_points": points}
    found = PHYSICS.diy_aerosol(28.6, 77.2, 2050, "ssp370", **asia)
    assert 0.05 <= found.global_change.mean[0] <= 0.26


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_small_changes_are_symmetric_to_first_order(scenario: str) -> None:
    for gases in ({"delta_co2": 5.0}, {"delta_ch4": 5.0}, {"delta_so2": 5.0}):
        up = temperature.global_temperature(2070, scenario, **gases).change.mean[0]
        less = {gas: -value for gas, value in gases.items()}
        down = temperature.global_temperature(2070, scenario, **less).change.mean[0]
        assert up != 0
        assert up == pytest.approx(-down, rel=0.1)
