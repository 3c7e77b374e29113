"""The simulator as its user meets it: registered settings, speed, another process."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import pytest

from simulators.base import validate_call
from simulators.epidemiology import EpidemiologySimulator
from simulators.epidemiology.ensemble import Conditions, run_ensemble

ROOT = Path(__file__).resolve().parents[2]
CALL = {
    "states": ["Ohio"],
    "start_date": "2022-10-01",
    "r0": 2,
    "seasonality": "high",
    "prior_immunity_percent": 20,
    "metric": "hospital incidence",
}


def test_another_process_gives_the_same_outputs() -> None:
    simulator = EpidemiologySimulator(members=5)
    here = simulator.run("forecast", validate_call(simulator, "forecast", CALL), 1)
    code = (
        "from simulators.epidemiology import EpidemiologySimulator as E\n"
        "from simulators.base import validate_call\n"
        f"s = E(members=5); a = validate_call(s, 'forecast', {CALL!r})\n"
        "print(s.run('forecast', a, 1).model_dump_json())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == here.model_dump_json()


def test_the_handbook_needs_no_compiler() -> None:
    code = (
        "import sys; from simulators.epidemiology import EpidemiologySimulator as E\n"
        "E().handbook(); E().fingerprint(); print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_a_hundred_members_of_the_whole_country_take_seconds() -> None:
    """1.5 s of one idle core; twice that where cores are shared."""
    conditions = Conditions(start=date(2022, 10, 1), r0=2.4, prior_immunity_percent=30)
    run_ensemble(conditions, range(1), 0)
    times = []
    for seed in range(2):
        before = time.process_time()
        run_ensemble(conditions, range(100), seed)
        times.append(time.process_time() - before)
    assert min(times) <= 3.0
