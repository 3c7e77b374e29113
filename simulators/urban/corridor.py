"""The corridor: every free constant of the urban simulator, its road network and its traffic.

The constants were read off the published records (45 distinct settings): the two flows (600 and
200 veh/h entering at a fixed headway for 600 s give every vehicle count to one car), the length
(about 995 m driven by cars of 5 m on 1000 m of road), the start from a standstill (the idling
second of cars that are never stopped), the emission class (their CO2 to fuel ratio is that of
HBEFA3 petrol Euro 4) and two lanes. A signal cycle of 90 s is assumed. Fitted to the same records
is what is marked so: driving by a search like that of ``studies/urban/calibrate.py``, then rounded
and adjusted by hand; split and offset of the signal by trying whole seconds.
docs/simulators/urban.md tells how, and the errors that remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path

from simulators.urban import engine

PETROL_MG_PER_ML = 742.0
"""Density of petrol in the HBEFA3 model of SUMO (742 g/l): turns its fuel mass into volume."""

INSERTION_S = 1.0
"""A car that enters at a standstill counts as idling during the second of its insertion."""

TELEPORT_S = 300.0
"""A car that stands this long is taken as gridlock: SUMO would teleport it, we fail."""

SIGNAL = "signal"
EASTBOUND = ("east_0", "east_1")
WESTBOUND = ("west_1", "west_0")


@dataclass(frozen=True)
class Corridor:
    """Geometry, signal, vehicles and demand of the baseline."""

    half_length_m: float = 500.0
    """Road on each side of the junction."""
    lanes: int = 2
    """Lanes a direction."""
    speed_limit_mps: float = 22.05
    """Fitted. Speed limit, scaled by ``speed_factor``."""
    green_s: float = 38.0
    """Fitted. Green for the corridor."""
    yellow_s: float = 3.0
    """Yellow for the corridor."""
    red_s: float = 49.0
    """Fitted. Red for the corridor (green and yellow of the cross street)."""
    offset_s: float = 47.0
    """Fitted. Second of the signal program at which the simulation starts."""
    max_speed_mps: float = 22.1
    """Fitted. What the cars can drive."""
    accel_mps2: float = 2.52
    """Fitted. Largest acceleration."""
    decel_mps2: float = 4.5
    """Comfortable deceleration (SUMO's default)."""
    sigma: float = 0.46
    """Fitted. Driver imperfection of the Krauss model."""
    speed_deviation: float = 0.085
    """Fitted. Standard deviation of drivers' speed relative to the limit."""
    emission_class: str = "HBEFA3/PC_G_EU4"
    """Petrol passenger car, Euro 4."""
    flows_vehicles_per_hour: tuple[float, float] = (600.0, 200.0)
    """Eastbound and westbound demand, scaled by ``demand_factor``."""
    demand_s: float = 600.0
    """How long cars keep entering."""
    horizon_s: float = 3600.0
    """End of the simulation; a car still on its way then is an error."""


CORRIDOR = Corridor()


def corridor_network(
    corridor: Corridor,
    *,
    speed_factor: float,
    lanes: int,
    signalised: bool,
    cache_dir: Path,
    timeout_s: float,
) -> Path:
    """Build the network file of one variant of the corridor, once per geometry."""
    plain = {
        "plain.nod.xml": _nodes(corridor, signalised),
        "plain.edg.xml": _edges(corridor, speed_factor, lanes),
        "plain.con.xml": _connections(lanes),
    }
    options = ["--node-files=plain.nod.xml", "--edge-files=plain.edg.xml"]
    options += ["--connection-files=plain.con.xml", "--no-turnarounds=true"]
    if signalised:
        plain["plain.tll.xml"] = _signal(corridor, lanes)
        options.append("--tllogic-files=plain.tll.xml")
    return engine.converted(plain, options, cache_dir=cache_dir, timeout_s=timeout_s)


def _nodes(corridor: Corridor, signalised: bool) -> str:
    light = f'type="traffic_light" tl="{SIGNAL}"' if signalised else 'type="priority"'
    kinds = ('type="priority"', light, 'type="priority"')
    rows = [
        f'  <node id="n{index}" x="{index * corridor.half_length_m:g}" y="0" {kind}/>'
        for index, kind in enumerate(kinds)
    ]
    return "<nodes>\n" + "\n".join(rows) + "\n</nodes>\n"


def _edges(corridor: Corridor, speed_factor: float, lanes: int) -> str:
    speed = corridor.speed_limit_mps * speed_factor
    rows = [
        f'  <edge id="{name}" from="n{source}" to="n{target}" numLanes="{lanes}"'
        f' speed="{speed:.4f}"/>'
        for name, source, target in (
            (EASTBOUND[0], 0, 1),
            (EASTBOUND[1], 1, 2),
            (WESTBOUND[0], 2, 1),
            (WESTBOUND[1], 1, 0),
        )
    ]
    return "<edges>\n" + "\n".join(rows) + "\n</edges>\n"


def _connections(lanes: int) -> str:
    """Connect every lane straight ahead."""
    rows = [
        f'  <connection from="{a}" to="{b}" fromLane="{lane}" toLane="{lane}"/>'
        for route in (EASTBOUND, WESTBOUND)
        for a, b in pairwise(route)
        for lane in range(lanes)
    ]
    return "<connections>\n" + "\n".join(rows) + "\n</connections>\n"


def _signal(corridor: Corridor, lanes: int) -> str:
    """Write a fixed-time program: one light for all lanes of both directions, so no index order."""
    links = [(*route, lane) for route in (EASTBOUND, WESTBOUND) for lane in range(lanes)]
    phases = [
        ("G", corridor.green_s),
        ("y", corridor.yellow_s),
        ("r", corridor.red_s),
    ]
    rows = [
        f'  <tlLogic id="{SIGNAL}" type="static" programID="0" offset="{-corridor.offset_s:g}">'
    ]
    rows += [f'    <phase duration="{s:g}" state="{c * len(links)}"/>' for c, s in phases]
    rows.append("  </tlLogic>")
    rows += [
        f'  <connection from="{a}" to="{b}" fromLane="{lane}" toLane="{lane}" tl="{SIGNAL}"'
        f' linkIndex="{index}"/>'
        for index, (a, b, lane) in enumerate(links)
    ]
    return "<tlLogics>\n" + "\n".join(rows) + "\n</tlLogics>\n"


def routes(corridor: Corridor, demand_factor: float) -> str:
    """Write the route file, as XML."""
    car = {
        "emissionClass": corridor.emission_class,
        "accel": f"{corridor.accel_mps2:g}",
        "decel": f"{corridor.decel_mps2:g}",
        "sigma": f"{corridor.sigma:g}",
        "maxSpeed": f"{corridor.max_speed_mps:g}",
        "speedFactor": f"normc(1,{corridor.speed_deviation:g},0.2,2)",
    }
    attributes = " ".join(f'{name}="{value}"' for name, value in car.items())
    rows = [
        f'  <vType id="car" {attributes}/>',
        f'  <route id="eastbound" edges="{" ".join(EASTBOUND)}"/>',
        f'  <route id="westbound" edges="{" ".join(WESTBOUND)}"/>',
    ]
    directions = zip(("eastbound", "westbound"), corridor.flows_vehicles_per_hour, strict=True)
    for name, rate in directions:
        hourly = rate * demand_factor
        rows.append(
            f'  <flow id="flow_{name}" type="car" route="{name}" begin="0" departSpeed="0"'
            f' period="{3600 / hourly:.6f}" number="{_entering(hourly, corridor.demand_s)}"/>'
        )
    return "<routes>\n" + "\n".join(rows) + "\n</routes>\n"


def _entering(hourly: float, duration_s: float) -> int:
    """Count vehicles of an even flow in [0, duration): one at 0, then one a headway.

    The rounding keeps 1.11 x 600 / 6 = 111.00000000000001 from becoming 112.
    """
    return ceil(round(hourly * duration_s / 3600, 6))
