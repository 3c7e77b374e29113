"""The cases of ``tracking_cases``, in a process of their own.

Prefect reads its settings once, when it is imported, and in this process a test of another file may
have imported it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("tracking_cases.py")


@pytest.mark.slow
def test_the_cases_in_a_process_of_their_own() -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", str(CASES)],
        cwd=CASES.parents[2],
        env=kept,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
