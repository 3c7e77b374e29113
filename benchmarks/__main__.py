"""``make bench``: one JSON object a line (name, value, unit, n). Figures, not tests.

``python -m benchmarks NAME ...`` runs some of them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.cache_places import cache_places
from benchmarks.calls import calls
from benchmarks.evaluation import evaluation
from benchmarks.figures import Figure
from benchmarks.memory import memory
from benchmarks.questions import questions
from benchmarks.report import report
from benchmarks.scale import scale
from benchmarks.throughput import throughput
from benchmarks.tracking import prefect
from simulators.registry import load
from simulrag.calls import CallCache, CallResult
from simulrag.method.confidence import claim_confidence
from simulrag.records import CENTRALITIES


def cache() -> Iterator[Figure]:
    """What the call cache costs a call: a stored miss and a hit, with the call itself free."""
    n = 2000

    async def use(store: CallCache) -> float:
        async def call() -> CallResult:
            return CallResult(response="reply")

        start = time.perf_counter()
        for i in range(n):
            await store.get_or_call("model", {"model": "m", "messages": [f"{i} " * 400]}, call)
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        for name in ("cache_miss", "cache_hit"):
            with CallCache(Path(folder), stage="bench") as store:
                yield name, asyncio.run(use(store)) / n * 1e6, "us per call", n


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


def main() -> None:
    """Print the figures of the named benchmarks, or of all."""
    parts = (cache, prefect, sumo, confidence, epidemiology, evaluation, report)
    more = (cache_places, calls, throughput, memory, scale, questions)
    known = {part.__name__: part for part in (*parts, *more)}
    for name in sys.argv[1:] or known:
        for figure, value, unit, n in known[name]():
            line = {"name": figure, "value": float(f"{value:.4g}"), "unit": unit, "n": n}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
