"""What a question takes, measured over growing benchmarks, and what that makes of millions.

``python -m benchmarks.scale`` runs the stages on the offline model for each count of ``COUNTS``
(``BENCH_FULL=1``: ``FULL``), fits a line to each quantity, and prints the measurements and the
table of docs/cost-at-scale.md. Time waited for a model and money are no measurements: they follow
from the assumptions below and from prices.yaml.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import Figure
from benchmarks.stub_runs import ROOT
from simulrag.benchmark.filling import grid
from simulrag.calls import cache_stats
from simulrag.models.prices import read_prices
from simulrag.models.replies import Template
from simulrag.records import Usage
from tests.integration.projects import copy_project

COUNTS = (10, 30, 60)
FULL = (40, 160, 640)
SCALES = (10_000, 100_000, 1_000_000)
STAGES = ("simulator", "benchmark", "answer", "label", "metrics", "report")
PER_DOMAIN = frozenset(STAGES[:4])
CHUNK = 10
"""operations.chunk: as many questions are under way at every count, so that the memory that
grows is what a stage holds of those that are done."""

_LAUNCHER = """\
import json, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""
"""A process is born with the peak of the one that starts it, so a small one starts the stages."""

LATENCY_S = 3.0
"""Assumed: from the request to the last token of a reply."""
IN_FLIGHT = (16, 64, 256)
"""operations.concurrency; the provider's rate limit must bear it."""
SDK_CPU_S = 0.0055
"""CPU of one process for each call to a server; the offline model needs none of it. Measured by
``python -m benchmarks throughput`` (client_cpu_per_call), see docs/fewer-calls.md."""
OUTPUT_TOKENS = 150
"""Assumed reply without reasoning: the offline rules write shorter ones than models do."""
MODELS = (("openai", "gpt-5-nano"), ("openai", "gpt-5-mini"), ("anthropic", "claude-haiku-4-5"))

Line = tuple[float, float]
"""Slope and intercept."""


def scale() -> Iterator[Figure]:
    """The slope of every quantity: how much of it one question more takes."""
    points = measurements()
    for name, (slope, _) in lines(points).items():
        yield f"{name}_per_question", slope, unit(name), max(points)


def measurements(counts: Sequence[int] | None = None) -> dict[int, dict[str, float]]:
    """Every quantity by the number of questions."""
    chosen = counts or (FULL if os.environ.get("BENCH_FULL") else COUNTS)
    with tempfile.TemporaryDirectory() as folder:
        return {count: _measure(Path(folder) / str(count), count) for count in chosen}


def lines(points: Mapping[int, Mapping[str, float]]) -> dict[str, Line]:
    """The least-squares line of each quantity over the number of questions."""
    counts = list(points)
    found: dict[str, Line] = {}
    for name in points[counts[0]]:
        slope, intercept = np.polyfit(counts, [points[count][name] for count in counts], 1)
        found[name] = float(slope), float(intercept)
    return found


def at(line: Line, questions: int) -> float:
    """A quantity at a number of questions."""
    return max(0.0, line[0] * questions + line[1])


def unit(name: str) -> str:
    """A quantity's unit, by the end of its name."""
    units = {"bytes": "bytes", "cpu": "CPU s", "seconds": "s", "peak": "bytes"}
    return units.get(name.rsplit("_", 1)[-1], "")


def table(found: Mapping[str, Line]) -> str:
    """The extrapolation as Markdown: a column a number of questions."""
    prices = read_prices(ROOT / "prices.yaml")
    rows: list[tuple[str, list[str]]] = []

    def row(title: str, values: Sequence[float]) -> None:
        rows.append((title, [_two_digits(value) for value in values]))

    calls = [at(found["calls"], n) for n in SCALES]
    row("model calls", calls)
    row("simulator runs", [at(found["simulator_runs"], n) for n in SCALES])
    row("input tokens, millions", [at(found["input_tokens"], n) / 1e6 for n in SCALES])
    for title, name in (
        ("call cache, GB", "cache_bytes"),
        ("exports (`data/calls`), GB", "export_bytes"),
        ("other outs, GB", "out_bytes"),
    ):
        row(title, [at(found[name], n) / 1e9 for n in SCALES])
    for stage in ("answer", "label", "metrics", "report"):
        line = found[f"{stage}_peak"]
        row(f"memory of `{stage}`, GB", [at(line, n) / 1e9 for n in SCALES])
    ours = [sum(at(found[f"{s}_cpu"], n) for s in STAGES) / 3600 for n in SCALES]
    row("own CPU, hours", ours)
    row("SDK's CPU of one process, hours", [n * SDK_CPU_S / 3600 for n in calls])
    for flying in IN_FLIGHT:
        waits = [n * LATENCY_S / flying / 3600 for n in calls]
        row(f"waiting for the model, {flying} in flight, hours", waits)
    for provider, model in MODELS:
        price = prices.find((provider, "default", model))
        if price is None:
            raise LookupError(f"prices.yaml has no line for {provider}:{model}")
        money = [
            price.cost(
                Usage(
                    calls=round(of),
                    input_tokens=round(at(found["input_tokens"], n)),
                    output_tokens=round(of * OUTPUT_TOKENS),
                )
            )
            for n, of in zip(SCALES, calls, strict=True)
        ]
        row(f"{model} ({price.as_of}), USD", money)
    head = "| | " + " | ".join(f"{n:,}" for n in SCALES) + " |"
    body = [f"| {title} | {' | '.join(f'{cell:>9}' for cell in cells)} |" for title, cells in rows]
    return "\n".join([head, "| --- |" + " ---: |" * len(SCALES), *body])


def _two_digits(value: float) -> str:
    """No more digits than a line through three points can bear."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def measured(points: Mapping[int, Mapping[str, float]]) -> str:
    """What was measured, as Markdown: a column a count, and the slope."""
    found = lines(points)
    head = "| | " + " | ".join(map(str, points)) + " | a question |"
    body = [
        f"| {name} | "
        + " | ".join(f"{points[count][name]:.4g}" for count in points)
        + f" | {found[name][0]:.3g} |"
        for name in found
    ]
    return "\n".join([head, "| --- |" + " ---: |" * (len(points) + 1), *body])


def _measure(folder: Path, count: int) -> dict[str, float]:
    """Run every stage for a number of questions and weigh what is there then."""
    changes = {"benchmark.questions": count, "operations.prefect": "off", "operations.chunk": CHUNK}
    project = copy_project(folder, **changes)
    found: dict[str, float] = {}
    for stage in STAGES:
        seconds, cpu, peak = run_stage(project, stage, "urban")
        found |= {f"{stage}_seconds": seconds, f"{stage}_cpu": cpu, f"{stage}_peak": peak}
    spent = pl.read_csv(project / "data/metrics/spending.csv")
    found["calls"] = float(spent["calls"].sum())
    found["input_tokens"] = float(spent["input_tokens"].sum())
    found["output_tokens"] = float(spent["output_tokens"].sum())
    stats = cache_stats(project / ".cache/calls")
    found["simulator_runs"] = float(stats.by_kind.get("simulator", 0))
    found["distinct_scenarios"] = _distinct(project / "data/benchmark/urban-templates.json")
    found["cache_bytes"] = _size(project / ".cache/calls")
    found["export_bytes"] = _size(project / "data/calls")
    kept = ("benchmark", "answers", "labels", "metrics", "report", "simulators")
    found["out_bytes"] = sum(_size(project / "data" / name) for name in kept)
    return found


def run_stage(project: Path, stage: str, domain: str) -> tuple[float, float, float]:
    """Seconds on the clock, CPU seconds with those of its children, and the peak in bytes."""
    command = [sys.executable, "-m", f"flows.{stage}"]
    command += ["--domain", domain] if stage in PER_DOMAIN else []
    environment = {**os.environ, "PYTHONPATH": str(project), "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command],
        cwd=project,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    code, cpu, peak = json.loads(done.stdout)
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {code} in {project}")
    return time.perf_counter() - start, cpu, peak


def _distinct(templates: Path) -> float:
    """How many scenarios a benchmark's templates have to give."""
    made = [Template.model_validate(one) for one in json.loads(templates.read_text())]
    choices = (
        [*(len(grid(p)) for p in one.placeholders), *(len(c.options) for c in one.choices)]
        for one in made
    )
    return float(sum(map(prod, choices)))


def _size(folder: Path) -> float:
    return float(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))


def main() -> None:
    """Measure, and print the Markdown of docs/cost-at-scale.md."""
    points = measurements()
    sys.stdout.write(f"{measured(points)}\n\n{table(lines(points))}\n")


if __name__ == "__main__":
    main()
