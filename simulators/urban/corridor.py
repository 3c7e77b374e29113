"""The corridor: every free constant of the urban simulator, and where each comes from.

Read off the published records (45 distinct settings): the two flows (600 and 200 veh/h entering at
a fixed headway for 600 s give every vehicle count to one car), the length (about 995 m driven by
cars of 5 m on 1000 m of road), the start from a standstill (the idling second of cars that are
never stopped), the emission class (their CO2 to fuel ratio is that of HBEFA3 petrol Euro 4) and
two lanes. A signal cycle of 90 s is assumed. Fitted to the same records is what is marked so:
driving by a search like that of ``calibrate.py``, then rounded and adjusted by hand; split and
offset of the signal by trying whole seconds. docs/simulators/urban.md tells how, and the errors
that remain.
"""

from __future__ import annotations

from dataclasses import dataclass


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

PETROL_MG_PER_ML = 742.0
"""Density of petrol in the HBEFA3 model of SUMO (742 g/l): turns its fuel mass into volume."""

INSERTION_S = 1.0
"""A car that enters at a standstill counts as idling during the second of its insertion."""

TELEPORT_S = 300.0
"""A car that stands this long is taken as gridlock: SUMO would teleport it, we fail."""
