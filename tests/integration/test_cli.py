"""The command line: what a user types, and what each mistake answers."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.projects import copy_project, run

QUESTION = (
    "The city lowers the speed limit on the corridor by 30% and turns its signal into a "
    "'green wave' priority junction. How does the average travel time change, and what happens "
    "to idling?"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(
        tmp_path_factory.mktemp("cli") / "project", **{"operations.run_log": "runs.jsonl"}
    )


def simulrag(
    project: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return run(
        project, sys.executable, "-m", "flows.cli.app", *arguments, check=False, **environment
    )


def simulator_runs(project: Path) -> int:
    log = project / "runs.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_ask_answers_with_claims_and_evidence(project: Path) -> None:
    done = simulrag(project, "ask", QUESTION, "--domain", "urban", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["answer"]
    assert answer["verified"] is True
    (evidence,) = answer["evidence"]
    assert evidence["call"]["arguments"]["speed_factor"] == 0.7
    assert evidence["call"]["arguments"]["use_priority_junction"] is True
    assert {claim["verdict"] for claim in answer["claims"]} & {"aligned", "contradicted"}
    assert all(0 <= claim["confidence"]["closeness"] <= 1 for claim in answer["claims"])


def test_ask_again_makes_no_call(project: Path) -> None:
    first = simulrag(project, "ask", QUESTION, "--domain", "urban", "--json")
    runs = simulator_runs(project)
    again = simulrag(project, "ask", QUESTION, "--domain", "urban", "--json")
    assert again.stdout == first.stdout
    assert simulator_runs(project) == runs
    shown = simulrag(project, "cache", "stats", "--json")
    assert json.loads(shown.stdout)["stages"]["ask"]["misses"] == 0


def test_ask_for_people(project: Path) -> None:
    done = simulrag(project, "ask", QUESTION, "--domain", "urban")
    assert done.returncode == 0
    assert "Evidence" in done.stdout
    assert "verdict" in done.stdout


def test_a_question_that_no_tool_applies_to(project: Path) -> None:
    before = simulator_runs(project)
    done = simulrag(
        project, "ask", "Who painted the ceiling of the chapel?", "--domain", "urban", "--json"
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["verified"] is False
    assert answer["evidence"] == []
    assert simulator_runs(project) == before


def test_simulate_prints_text_or_json(project: Path) -> None:
    call = ("simulate", "urban", "run_scenario", '{"speed_factor": 0.8}')
    text = simulrag(project, *call)
    assert "travel time" in text.stdout
    done = json.loads(simulrag(project, *call, "--json").stdout)
    assert done["call"]["arguments"]["speed_factor"] == 0.8
    assert done["from_cache"] is True


def test_handbook_and_params(project: Path) -> None:
    assert "| speed_factor |" in simulrag(project, "handbook", "urban").stdout
    rows = json.loads(simulrag(project, "params", "--json").stdout)
    assert {
        key: row[key]
        for row in rows
        if row["name"] == "answer.samples"
        for key in ("name", "value")
    } == {"name": "answer.samples", "value": 5}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ask", "  ", "--domain", "urban"), ["question is empty"]),
        (("ask", QUESTION, "--domain", "ubran"), ["ubran", "urban"]),
        (("simulate", "atlantis", "run_scenario"), ["atlantis", "urban"]),
        (("simulate", "urban", "run_scenari"), ["run_scenari", "run_scenario"]),
        (("simulate", "urban", "run_scenario", '{"speed_factor": 0.8'), ["no valid JSON"]),
        (("simulate", "urban", "run_scenario", "[1]"), ["JSON object"]),
        (
            ("simulate", "urban", "run_scenario", '{"speed_factor": 9}'),
            ["speed_factor", "less than or equal to 1.5"],
        ),
        (("simulate", "urban", "run_scenario", '{"lanes": "two"}'), ["lanes"]),
        (("simulate", "urban", "run_scenario", '{"sped": 1}'), ["sped"]),
        (("import-official", "nowhere"), ["nowhere", "questions.json"]),
        (("cache", "import", "nowhere.parquet"), ["nowhere.parquet"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    project: Path, arguments: tuple[str, ...], words: list[str]
) -> None:
    before = simulator_runs(project)
    done = simulrag(project, *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert simulator_runs(project) == before


def test_a_benchmark_file_that_lacks_a_field(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"question_id": "urban-1", "domain": "urban"}\n')
    done = run(
        project,
        *(sys.executable, "-m", "flows.stages.answer", "--domain", "urban"),
        *("--benchmark", str(file), "--simulator", "replay", "--out", str(tmp_path / "out")),
        check=False,
    )
    assert done.returncode == 2
    assert "broken.jsonl:1" in done.stderr
    assert "text" in done.stderr
    assert "Traceback" not in done.stderr


def flow(project: Path, stage: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(project, sys.executable, "-m", f"flows.{stage}", *arguments, check=False)


def test_files_that_do_not_belong_together(project: Path, tmp_path: Path) -> None:
    benchmark = tmp_path / "one.jsonl"
    question = {
        "question_id": "q1",
        "domain": "urban",
        "text": "Why?",
        "reference_answer": "So.",
        "scenario_id": "s1",
    }
    benchmark.write_text(json.dumps(question) + "\n")
    out = tmp_path / "out"
    (out / "answers").mkdir(parents=True)
    (out / "answers/urban.jsonl").write_text('{"question_id": "q2", "domain": "urban"}\n')
    named = ("--benchmark", str(benchmark), "--domain", "urban", "--out", str(out))
    done = flow(project, "label", *named)
    assert done.returncode == 2
    assert "q2" in done.stderr
    assert "one.jsonl" in done.stderr
    other = flow(project, "answer", *named[:3], "climate", *named[4:], "--simulator", "replay")
    assert other.returncode == 2
    assert "domain urban, not climate" in other.stderr
    alone = flow(project, "answer", *named[:4])
    assert alone.returncode == 2
    assert "--out" in alone.stderr


def test_an_out_folder_that_cannot_be_made_costs_nothing(project: Path, tmp_path: Path) -> None:
    done = run(
        project,
        *(sys.executable, "-m", "flows.cli.app", "import-official", "folder", "--out"),
        "/proc/nope/x.jsonl",
        check=False,
    )
    assert done.returncode == 2  # the folder to import is looked at first
    question = {
        "question_id": "q1",
        "domain": "urban",
        "text": "How does a 20% lower speed limit change the travel time?",
        "reference_answer": "",
        "scenario_id": "s1",
    }
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(question) + "\n")
    before = simulator_runs(project)
    named = ("--benchmark", str(file), "--domain", "urban", "--out", "/proc/nope")
    stopped = flow(project, "answer", *named)
    assert stopped.returncode == 1
    assert stopped.stderr.count("\n") == 1
    assert simulator_runs(project) == before


def test_brackets_in_a_question_are_text(project: Path) -> None:
    done = simulrag(project, "ask", "Does CO2 [mg] fall [/b] at night?", "--domain", "urban")
    assert done.returncode == 0, done.stderr
    assert "CO2 [mg] fall [/b] at night?" in done.stdout


def test_a_misspelt_parameter(tmp_path: Path) -> None:
    other = copy_project(tmp_path / "other", **{"answer.sampels": 5})
    done = simulrag(other, "ask", QUESTION, "--domain", "urban")
    assert done.returncode == 2
    assert "answer.sampels: unknown key, did you mean 'samples'?" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_cache_folder(tmp_path: Path) -> None:
    other = copy_project(tmp_path / "other")
    (other / ".cache").mkdir(mode=0o500)
    done = simulrag(other, "ask", QUESTION, "--domain", "urban")
    assert done.returncode == 1
    assert ".cache" in done.stderr


def test_a_cache_folder_that_is_a_file(tmp_path: Path) -> None:
    other = copy_project(tmp_path / "other")
    (other / ".cache").write_text("not a folder")
    done = simulrag(other, "ask", QUESTION, "--domain", "urban")
    assert done.returncode == 1
    assert ".cache" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tampered_row_is_named_and_costs_nothing_else(project: Path) -> None:
    call = ("simulate", "urban", "run_scenario", '{"speed_factor": 0.81}')
    assert simulrag(project, *call).returncode == 0
    (database,) = (project / ".cache").rglob("cache.db")
    with sqlite3.connect(database) as connection:
        (key,) = connection.execute(
            "select key from Cache where key like 'call/%' and value like ?",
            ('%"speed_factor":0.81,%"tool":"run_scenario"%',),
        ).fetchone()
        connection.execute("update Cache set value = '{\"no\": 1}' where key = ?", (key,))
    runs = simulator_runs(project)
    done = simulrag(project, *call)
    assert done.returncode == 1
    assert key.removeprefix("call/") in done.stderr
    assert "Traceback" not in done.stderr
    assert simulator_runs(project) == runs
    report = simulrag(project, "cache", "verify", "--json")
    assert report.returncode == 1
    assert len(json.loads(report.stdout)["problems"]) == 1


def test_sumo_missing(project: Path, tmp_path: Path) -> None:
    """A Python that sees every package but SUMO's."""
    hide = tmp_path / "sitecustomize.py"
    hide.write_text("import sys\nsys.modules['sumo'] = None\n")
    done = simulrag(
        project,
        *("simulate", "urban", "run_scenario", '{"speed_factor": 0.93}'),
        PYTHONPATH=f"{tmp_path}{os.pathsep}{project}",
        SUMO_HOME="",
        PATH="/usr/bin:/bin",
    )
    assert done.returncode == 1
    assert "SUMO" in done.stderr
    assert "eclipse-sumo" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_quick_to_import() -> None:
    """``simulrag --help`` imports none of the heavy packages."""
    code = "import sys, flows.cli.app; print([m for m in %r if m in sys.modules])"
    heavy = ["prefect", "dvc", "torch", "polars", "openai", "anthropic", "networkx", "sklearn"]
    done = subprocess.run(
        [sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
