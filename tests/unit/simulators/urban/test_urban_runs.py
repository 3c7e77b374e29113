"""A run's files: the traffic that enters, and every way its outputs can be unsound."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from simulators.base import RunError
from simulators.urban.corridor import CORRIDOR, routes
from simulators.urban.runs import Measures, measure


@pytest.mark.parametrize(
    ("factor", "vehicles"),
    [(1.0, 134), (0.7, 94), (0.82, 110), (1.1, 147), (1.22, 163), (1.23, 164), (0.3, 40)],
)
def test_vehicles_enter_at_even_headways_for_the_time_of_demand(
    factor: float, vehicles: int
) -> None:
    flows = ET.fromstring(routes(CORRIDOR, factor)).findall("flow")
    assert sum(int(flow.attrib["number"]) for flow in flows) == vehicles
    for flow in flows:
        headway, number = float(flow.attrib["period"]), int(flow.attrib["number"])
        assert (number - 1) * headway < CORRIDOR.demand_s <= number * headway + 1e-3


def test_cars_start_from_a_standstill_whatever_sumos_default() -> None:
    flows = ET.fromstring(routes(CORRIDOR, 1.0)).findall("flow")
    assert {flow.attrib["departSpeed"] for flow in flows} == {"0"}


STATISTICS = """<statistics>
<vehicles loaded="2" inserted="2" running="{running}" waiting="{waiting}"/>
<teleports total="{teleports}" jam="0" yield="0" wrongLane="0"/>
<safety collisions="{collisions}" emergencyStops="0"/>
</statistics>"""
TRIP = (
    '<tripinfo id="{id}" arrival="{arrival}" departSpeed="{depart}" duration="{duration}" '
    'routeLength="995.00" waitingTime="{waiting}">'
    '<emissions CO2_abs="1000.00" NOx_abs="2.00" fuel_abs="742.00"/></tripinfo>'
)
TRIPS = (
    "<tripinfos>"
    + TRIP.format(id="a", arrival="60.00", depart="0.00", duration="60.00", waiting="0.00")
    + TRIP.format(id="b", arrival="90.00", depart="8.00", duration="80.00", waiting="5.00")
    + "</tripinfos>"
)


def read(folder: Path, trips: str = TRIPS, said: str = "", **counts: int) -> Measures:
    filled = {"running": 0, "waiting": 0, "teleports": 0, "collisions": 0, **counts}
    (folder / "t.xml").write_text(trips)
    (folder / "s.xml").write_text(STATISTICS.format(**filled))
    return measure(folder / "t.xml", folder / "s.xml", error_text=said)


def test_means_totals_and_units(tmp_path: Path) -> None:
    measures = read(tmp_path)
    assert measures.travel_time_s == 70
    assert measures.distance_m == 995
    assert measures.co2_mg == 2000
    assert measures.co2_per_vehicle_mg == 1000
    assert measures.nox_mg == 4
    assert measures.fuel_ml == pytest.approx(2.0)
    assert measures.vehicles == 2
    assert measures.last_arrival_s == 90


def test_the_insertion_second_counts_for_cars_that_enter_at_a_standstill(tmp_path: Path) -> None:
    assert read(tmp_path).idling_s == pytest.approx(((0 + 1) + (5 + 0)) / 2)


@pytest.mark.parametrize(
    ("count", "word"),
    [
        ("teleports", "3 vehicles stood"),
        ("collisions", "3 collisions"),
        ("running", "3 vehicles had not arrived"),
        ("waiting", "3 vehicles had not arrived"),
    ],
)
def test_broken_traffic_is_an_error_with_sumos_last_line(
    tmp_path: Path, count: str, word: str
) -> None:
    with pytest.raises(RunError, match=word) as caught:
        read(tmp_path, said="first\nWarning: the end\n\n", **{count: 3})
    assert "Warning: the end" in str(caught.value)


@pytest.mark.parametrize(
    ("trips", "word"),
    [
        ("<tripinfos/>", "demand is empty"),
        ("<tripinfos><tripinfo id='a'/></tripinfos>", "without emissions"),
        ("<tripinfos><tripinfo", "t.xml"),
    ],
)
def test_unusable_trips_are_an_error(tmp_path: Path, trips: str, word: str) -> None:
    with pytest.raises(RunError, match=word):
        read(tmp_path, trips)


def test_missing_outputs_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"s\.xml"):
        measure(tmp_path / "t.xml", tmp_path / "s.xml", error_text="")
