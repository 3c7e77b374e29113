"""One SUMO run from start to end: the process, and what it measured, checked and summed up."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from simulators.base import RunError
from simulators.urban import engine
from simulators.urban.corridor import (
    CORRIDOR,
    INSERTION_S,
    PETROL_MG_PER_ML,
    TELEPORT_S,
    Corridor,
    corridor_network,
    routes,
)

STANDSTILL_MPS = 0.1
"""SUMO's own threshold of waiting."""


@dataclass(frozen=True)
class Setting:
    """One state of the road: an intervention set, or the baseline (the defaults)."""

    speed_factor: float = 1.0
    demand_factor: float = 1.0
    lanes: int = CORRIDOR.lanes
    use_priority_junction: bool = False


BASELINE = Setting()


@dataclass(frozen=True)
class Workplace:
    """Where and how long runs may work; nothing here changes a result."""

    cache_dir: Path
    timeout_s: float
    run_log: Path | None


def run_corridor(
    setting: Setting, seed: int, workplace: Workplace, corridor: Corridor = CORRIDOR
) -> Measures:
    """Run the built-in corridor once. Deterministic in (setting, seed).

    A changed number of lanes rebuilds the junction without its signal (see docs/simulators).
    """
    rebuilt = setting.lanes != corridor.lanes
    network = corridor_network(
        corridor,
        speed_factor=setting.speed_factor,
        lanes=setting.lanes,
        signalised=not (setting.use_priority_junction or rebuilt),
        cache_dir=workplace.cache_dir,
        timeout_s=workplace.timeout_s,
    )
    with tempfile.TemporaryDirectory(prefix="urban-") as name:
        folder = Path(name)
        route_file = folder / "routes.rou.xml"
        route_file.write_text(routes(corridor, setting.demand_factor), encoding="utf-8")
        inputs = [
            f"--net-file={network}",
            f"--route-files={route_file}",
            f"--end={corridor.horizon_s:g}",
            f"--time-to-teleport={TELEPORT_S:g}",
        ]
        return simulate(inputs, seed, folder, workplace, {"setting": vars(setting)})


def simulate(
    inputs: Sequence[str],
    seed: int,
    folder: Path,
    workplace: Workplace,
    entry: dict[str, object],
) -> Measures:
    """Run one SUMO process, log it and measure what it did.

    Args:
        inputs: SUMO's options that name network, traffic and times.
        seed: of the drivers' randomness.
        folder: takes the outputs.
        workplace: limits and the run log.
        entry: what the log says of the run, beside simulator and seed.
    """
    tripinfo, statistics = folder / "tripinfo.xml", folder / "statistics.xml"
    command = [
        str(engine.program("sumo")),
        *inputs,
        f"--seed={seed}",
        "--random=false",
        f"--tripinfo-output={tripinfo}",
        f"--statistic-output={statistics}",
        "--device.emissions.probability=1",
        "--collision.action=warn",
        "--no-step-log=true",
        "--duration-log.disable=true",
        "--xml-validation=never",
    ]
    engine.log_run(workplace.run_log, {"simulator": "urban", "seed": seed, **entry})
    done = engine.call(command, timeout_s=workplace.timeout_s, what="the SUMO run")
    return measure(tripinfo, statistics, error_text=done.stderr)


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
    burnt = [element for element in emissions if element is not None]
    if len(burnt) < len(trips):
        raise RunError("SUMO wrote trips without emissions")
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
    """Add to the waiting the second of the insertion where the car enters at a standstill."""
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
        quoted = f"; SUMO's last line: {lines[-1]}" if lines else ""
        raise RunError(f"the traffic broke down, so no result: {' and '.join(problems)}{quoted}")


def _count(statistics: ET.Element, element: str, attribute: str) -> int:
    part = statistics.find(element)
    if part is None or attribute not in part.attrib:
        raise RunError(f"SUMO's statistics lack {element}/{attribute}: is this SUMO too old?")
    return int(part.attrib[attribute])


def _parse(path: Path) -> ET.Element:
    try:
        return ET.parse(path).getroot()  # noqa: S314 written by our own SUMO process
    except (OSError, ET.ParseError) as error:
        raise RunError(f"SUMO left no readable {path.name} ({error})") from None
