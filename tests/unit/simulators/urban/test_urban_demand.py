"""The corridor's route file."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from simulators.urban.corridor import CORRIDOR, routes


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
