"""Peak memory of the method and of the stage metrics over more and more questions.

Each count in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.evaluation import SIZES, measure_metrics, measured_apart
from benchmarks.figures import Figure
from benchmarks.repeated import write_repeated
from benchmarks.stub_runs import ROOT, method, stub_server, write_answers
from flows.project import Results

QUICK = (25, 50, 100, 200)
FULL = (200, 1000, 2200)
"""``BENCH_FULL=1``: some ten minutes; 2,200 questions are 53,000 calls."""
MANY = 20_000


def memory() -> Iterator[Figure]:
    """The method's peak, verification of the selected claims; then that of the metrics."""
    yield from _method_memory()
    yield from _metrics_memory()


def _method_memory() -> Iterator[Figure]:
    for count in FULL if os.environ.get("BENCH_FULL") else QUICK:
        with stub_server(0.0) as url:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.memory", str(count), url],
                cwd=ROOT,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        yield "peak_memory_mb", float(done.stdout), "MB", count


def _metrics_memory() -> Iterator[Figure]:
    """The peak for each count, and what the line through them reaches at ``MANY`` questions."""
    peaks = []
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write_repeated(Results(Path(folder)), count)
            peaks.append(measured_apart(measure_metrics, Path(folder))[2])
        yield "metrics_peak_memory_mb", peaks[-1], "MB", count
    slope, start = np.polyfit(SIZES, peaks, 1)
    yield "metrics_peak_memory_by_line_mb", float(start + slope * MANY), "MB", MANY


def main() -> None:
    """``python -m benchmarks.memory COUNT URL``: this process's peak in MB."""
    count, url = int(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        params = method(verify="selected")
        asyncio.run(write_answers(count, url, place, params, place / "answers.jsonl"))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
