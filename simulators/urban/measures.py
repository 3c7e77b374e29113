"""What one SUMO run measured: its tripinfo and statistics files, checked and summed up."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from simulators.base import RunError
from simulators.urban.corridor import INSERTION_S, PETROL_MG_PER_ML

STANDSTILL_MPS = 0.1
"""SUMO's own threshold of waiting."""


@dataclass(frozen=True)
class Measures:
    """Means over the vehicles (times in s, distance in m) and totals of all vehicles."""

    travel_time_s: float
    idling_s: float
    distance_m: float
    co2_mg: float
    nox_mg: float
    fuel_ml: float
    vehicles: int
    last_arrival_s: float

    @property
    def co2_per_vehicle_mg(self) -> float:
        """CO2 of the mean vehicle."""
        return self.co2_mg / self.vehicles


def measure(tripinfo: Path, statistics: Path, *, error_text: str) -> Measures:
    """Read a finished run. Raises RunError unless every vehicle arrived, undisturbed.

    ``error_text`` is what SUMO wrote to its error stream; its last line is quoted.
    """
    _check(_parse(statistics), error_text)
    trips = _parse(tripinfo).findall("tripinfo")
    if not trips:
        raise RunError("no vehicle drove: the demand is empty")
    emissions = [trip.find("emissions") for trip in trips]
    if any(found is None for found in emissions):
        raise RunError("SUMO wrote trips without emissions")
    burnt = [found for found in emissions if found is not None]
    return Measures(
        travel_time_s=fmean(float(trip.attrib["duration"]) for trip in trips),
        idling_s=fmean(_idling(trip) for trip in trips),
        distance_m=fmean(float(trip.attrib["routeLength"]) for trip in trips),
        co2_mg=sum(float(e.attrib["CO2_abs"]) for e in burnt),
        nox_mg=sum(float(e.attrib["NOx_abs"]) for e in burnt),
        fuel_ml=sum(float(e.attrib["fuel_abs"]) for e in burnt) / PETROL_MG_PER_ML,
        vehicles=len(trips),
        last_arrival_s=max(float(trip.attrib["arrival"]) for trip in trips),
    )


def _idling(trip: ET.Element) -> float:
    """Waiting, and the second of the insertion where the car enters at a standstill."""
    stands = float(trip.attrib["departSpeed"]) < STANDSTILL_MPS
    return float(trip.attrib["waitingTime"]) + (INSERTION_S if stands else 0.0)


def _check(statistics: ET.Element, error_text: str) -> None:
    problems = []
    teleports = _count(statistics, "teleports", "total")
    if teleports:
        problems.append(f"{teleports} vehicles stood so long that SUMO moved them (gridlock)")
    collisions = _count(statistics, "safety", "collisions")
    if collisions:
        problems.append(f"{collisions} collisions")
    unfinished = _count(statistics, "vehicles", "running") + _count(
        statistics, "vehicles", "waiting"
    )
    if unfinished:
        problems.append(f"{unfinished} vehicles had not arrived when the simulation ended")
    if problems:
        lines = [line.strip() for line in error_text.splitlines() if line.strip()]
        said = f"; SUMO's last line: {lines[-1]}" if lines else ""
        raise RunError(f"the traffic broke down, so no result: {' and '.join(problems)}{said}")


def _count(statistics: ET.Element, element: str, attribute: str) -> int:
    found = statistics.find(element)
    if found is None or attribute not in found.attrib:
        raise RunError(f"SUMO's statistics lack {element}/{attribute}: is this SUMO too old?")
    return int(found.attrib[attribute])


def _parse(path: Path) -> ET.Element:
    try:
        return ET.parse(path).getroot()  # noqa: S314 written by our own SUMO process
    except (OSError, ET.ParseError) as error:
        raise RunError(f"SUMO left no readable {path.name} ({error})") from None
