"""The corridor's traffic: one car type and a flow a direction, entering at fixed headways."""

from __future__ import annotations

from math import ceil

from simulators.urban.corridor import Corridor
from simulators.urban.network import EASTBOUND, WESTBOUND


def routes(corridor: Corridor, demand_factor: float) -> str:
    """The route file, as XML."""
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
    """Vehicles of an even flow in [0, duration): one at 0, then one a headway.

    The rounding keeps 1.11 x 600 / 6 = 111.00000000000001 from becoming 112.
    """
    return ceil(round(hourly * duration_s / 3600, 6))
