"""Peak memory of the method over more and more questions, each count in a process of its own."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.stub_runs import ROOT, method, stub_server, write_answers

QUICK = (25, 50, 100, 200)
FULL = (200, 1000, 2200)
"""``BENCH_FULL=1``: some ten minutes; 2,200 questions are 53,000 calls."""


def memory() -> Iterator[Figure]:
    """The peak for each count, verification of the selected claims."""
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
