"""What single parts cost: a SUMO run, the epidemic, a question's centralities."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.figures import Figure
from simulators.registry import load
from simulrag.method.confidence import claim_confidence
from simulrag.records import CENTRALITIES


def sumo() -> Iterator[Figure]:
    """One SUMO run of the corridor."""
    simulator = load("urban")
    model = simulator.tools["run_scenario"].arguments
    times: list[float] = []
    for i in range(6):
        arguments = model.model_validate({"speed_factor": 0.7 + 0.01 * i})
        start = time.perf_counter()
        simulator.run("run_scenario", arguments, 0)
        times.append(time.perf_counter() - start)
    yield "sumo_run", median(times[1:]), "s", len(times) - 1


def confidence() -> Iterator[Figure]:
    """All centralities of one question's graph: 5 answers, 35 claims."""
    support = [[(a * 7 + c * 3) % 4 > 0 for c in range(35)] for a in range(5)]
    n = 20
    start = time.perf_counter()
    for _ in range(n):
        for name in CENTRALITIES:
            claim_confidence(support, name)
    yield "confidence_all_centralities", (time.perf_counter() - start) / n * 1e3, "ms", n


def epidemiology() -> Iterator[Figure]:
    """The epidemic: a full ensemble, a benchmark question's run, the emulator on 100 scenarios."""
    from dataclasses import replace
    from datetime import date

    from simulators.epidemiology.emulator import emulate, load_emulator
    from simulators.epidemiology.ensemble import Conditions, run_ensemble

    one = Conditions(start=date(2022, 10, 5), r0=2.4, prior_immunity_percent=30)
    run_ensemble(one, range(1), 0)
    times = []
    for seed in range(3):
        start = time.process_time()
        run_ensemble(one, range(100), seed)
        times.append(time.process_time() - start)
    yield "epidemiology_100_members_45_weeks", median(times), "CPU s", len(times)
    simulator = load("epidemiology", {"members": 20})
    model = simulator.tools["forecast"].arguments
    call = {"states": ["OH", "UT"], "start_date": "2022-10-05", "metric": "hospital prevalence"}
    n = 10
    start = time.process_time()
    for i in range(n):
        changes = {"r0": 1.6 + 0.2 * i, "seasonality": "moderate", "prior_immunity_percent": 30}
        simulator.run("forecast", model.model_validate({**call, **changes}), 0)
    spent = time.process_time() - start
    yield "epidemiology_runs_of_20_members", n / spent, "runs per CPU s", n
    many = [replace(one, r0=1.5 + 0.02 * i) for i in range(100)]
    chosen = [(i % 51, (i + 7) % 51) for i in range(100)]
    emulator = load_emulator()
    times = []
    for _ in range(12):
        start = time.process_time()
        emulate(emulator, many, chosen, 20, 0)
        times.append(time.process_time() - start)
    # The first compiles and draws the members' chances.
    name = "epidemiology_emulator_100_scenarios"
    yield f"{name}_best", min(times[1:]) * 1e3, "CPU ms", len(times) - 1
    yield f"{name}_median", median(times[1:]) * 1e3, "CPU ms", len(times) - 1
