"""One SUMO run from start to end: network, demand, process, measures."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulators.urban import engine
from simulators.urban.corridor import CORRIDOR, TELEPORT_S, Corridor
from simulators.urban.demand import routes
from simulators.urban.measures import Measures, measure
from simulators.urban.network import corridor_network


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
    """One run of the built-in corridor. Deterministic in (setting, seed).

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
    """One SUMO process over ``inputs`` with our outputs in ``folder``, logged and measured."""
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
