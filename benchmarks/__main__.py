"""``make bench``: one JSON object a line (name, value, unit, n). Figures, not tests.

``python -m benchmarks NAME ...`` runs some of them.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from flows.params import unknown

BENCHMARKS = {
    "speed": "benchmarks.speed",
    "calls": "benchmarks.calls",
    "throughput": "benchmarks.throughput",
    "cache": "benchmarks.cache",
    "sumo": "benchmarks.engines",
    "epidemiology": "benchmarks.engines",
    "confidence": "benchmarks.engines",
    "evaluation": "benchmarks.evaluation",
    "report": "benchmarks.evaluation",
    "memory": "benchmarks.memory",
    "library": "benchmarks.library",
    "slips": "benchmarks.slips",
}
"""The function of each, which has the benchmark's name, by its module."""


def main() -> int:
    """Print the figures of the named benchmarks, or of all."""
    for name in sys.argv[1:]:
        if name not in BENCHMARKS:
            sys.stderr.write(f"{unknown('benchmark', name, list(BENCHMARKS))}\n")
            return 2
    for name in sys.argv[1:] or BENCHMARKS:
        module = import_module(BENCHMARKS[name])
        for figure, value, unit, n in getattr(module, name)():
            line = {"name": figure, "value": float(f"{value:.4g}"), "unit": unit, "n": n}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
