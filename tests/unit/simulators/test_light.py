"""What a stage asks of every simulator before any run needs no engine."""

from __future__ import annotations

import json
import subprocess
import sys

ENGINES = {"fair", "libsumo", "numba", "pandas", "prefect", "scipy", "sumo", "torch", "traci"}
BACKENDS = [
    ("urban", {}),
    ("climate", {"backend": "physics"}),
    ("climate", {"backend": "emulator"}),
    ("epidemiology", {"members": 20}),
    ("epidemiology", {"backend": "emulator"}),
]
SCRIPT = """
import json, sys
from simulators.base import validate_call
from simulators.registry import load
simulators = [load(name, settings) for name, settings in json.loads(sys.argv[1])]
for simulator in simulators:
    simulator.handbook(), simulator.fingerprint()
    for tool, calls in simulator.examples().items():
        for call in calls:
            validate_call(simulator, tool, call)
fingerprints = [simulator.fingerprint() for simulator in simulators]
print(json.dumps([fingerprints, sorted(sys.modules)]))
"""


def test_handbooks_fingerprints_and_checks_of_arguments_import_no_engine() -> None:
    command = [sys.executable, "-c", SCRIPT, json.dumps(BACKENDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    fingerprints, modules = json.loads(done.stdout)
    assert not ENGINES & set(modules)
    assert len(set(fingerprints)) == len(BACKENDS)
