"""Finding and running SUMO's programs."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from simulators.base import MissingEngineError, RunError
from simulators.urban import UrbanSimulator, engine
from simulators.urban.interventions import Interventions


def test_a_wrong_sumo_home_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUMO_HOME", str(tmp_path))
    with pytest.raises(MissingEngineError, match="pip install eclipse-sumo"):
        UrbanSimulator(cache_dir=tmp_path).run("run_scenario", Interventions(), 0)


def test_no_sumo_at_all_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUMO_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(MissingEngineError, match="pip install eclipse-sumo"):
        UrbanSimulator(cache_dir=tmp_path).fingerprint()


def test_a_program_that_fails_is_quoted_with_its_last_error_line() -> None:
    script = (
        "import sys; sys.stderr.write('Error: first\\nError: bad edge\\nQuitting\\n'); sys.exit(3)"
    )
    with pytest.raises(RunError, match=r"exit 3\): Error: bad edge$"):
        engine.call([sys.executable, "-c", script], timeout_s=30, what="the run")


def test_a_program_that_hangs_is_stopped() -> None:
    with pytest.raises(RunError, match=r"longer than 0\.2 s.*timeout_s"):
        engine.call(
            [sys.executable, "-c", "import time; time.sleep(30)"], timeout_s=0.2, what="the run"
        )


def test_a_program_that_does_not_start_is_a_missing_engine(tmp_path: Path) -> None:
    broken = tmp_path / "sumo"
    broken.write_text("not a program")
    with pytest.raises(MissingEngineError, match="does not start"):
        engine.call([str(broken)], timeout_s=5, what="the run")


def test_lines_of_the_run_log_never_mix(tmp_path: Path) -> None:
    log = tmp_path / "runs" / "log.jsonl"

    def write(writer: int) -> None:
        for index in range(50):
            engine.log_run(log, {"writer": writer, "index": index})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(entries) == 200
    assert len({(entry["writer"], entry["index"]) for entry in entries}) == 200


def test_an_unwritable_run_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="run log"):
        engine.log_run(tmp_path, {"a": 1})
