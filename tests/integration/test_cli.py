"""The command line: what a user types, and what each mistake answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from flows.params import load_params
from simulrag.records import Question
from simulrag.testing.loopback import LoopbackServer, question, stand_in
from tests.integration.projects import ROOT, copy_finished, copy_project, simulrag
from tests.integration.terminal import Opened, Terminal

OTHER = "What happens to idling when the corridor is closed to lorries at night?"
LOG = {"simulators.urban.settings": {"run_log": "runs.jsonl"}}


def runs(terminal: Terminal) -> int:
    """The simulator runs that were really made."""
    log = terminal.project / "runs.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def first_question(terminal: Terminal) -> Question:
    """The benchmark's first question."""
    with (terminal.project / "data/benchmark/urban.jsonl").open() as file:
        return Question.model_validate_json(file.readline())


@pytest.fixture(scope="module")
def project(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_finished(finished, tmp_path_factory.mktemp("cli") / "project", **LOG)


@pytest.fixture
def terminal(project: Path, terminal_in: Opened) -> Terminal:
    return terminal_in(project)


def test_a_question_of_the_benchmark_shows_its_recorded_answer(terminal: Terminal) -> None:
    question = first_question(terminal)
    said = terminal("ask", question.text.upper(), "--domain", "urban", "--json")
    answer = json.loads(said.out)
    assert answer["source"].startswith("recorded answer (anthropic: claude)")
    assert answer["question"] == question.text
    assert answer["answer"]
    assert {one["standing"] for one in answer["statements"]} >= {"checked", "beyond"}
    assert {claim["verdict"] for claim in answer["claims"]} >= {"aligned", "contradicted"}
    assert answer["evidence"][0]["call"]["tool"] in ("run_scenario", "compare_with_baseline")
    assert json.loads(terminal("ask", question.question_id, "--json").out) == answer
    for_people = terminal("ask", question.question_id)
    assert "Recorded answer" in for_people.out
    assert "Run 1: urban." in for_people.out
    assert runs(terminal) == 0


def test_questions_lists_what_can_be_asked(terminal: Terminal) -> None:
    listed = json.loads(terminal("questions", "--domain", "urban", "--json").out)
    assert len(listed) == 15
    assert listed[0]["text"] == first_question(terminal).text
    assert listed[0]["text"] in terminal("questions", "--full").out
    lines = terminal("questions", "--domain", "urban").out.splitlines()
    assert [line.split()[0] for line in lines] == [one["id"] for one in listed]


def test_any_other_question_needs_a_model(terminal: Terminal) -> None:
    said = terminal("ask", OTHER, "--domain", "urban")
    assert said.code == 2
    assert "--model openai:gpt-5-mini" in said.err
    assert said.out == ""


def test_an_id_with_a_digit_missing_is_not_paid_for_as_a_question(terminal: Terminal) -> None:
    name = first_question(terminal).question_id
    said = terminal("ask", name[:-1], "--model", "http://127.0.0.1:9/v1#none")
    assert said.code == 2
    assert f"no question has the id '{name[:-1]}'; the nearest is {name}" in said.err
    said = terminal("ask", name, "--domain", "climate")
    assert said.code == 2
    assert f"{name} is a question of the domain urban, not of climate" in said.err


def test_simulate_prints_text_or_json(terminal: Terminal) -> None:
    call = ("simulate", "urban", "run_scenario", '{"speed_factor": 0.8}')
    assert "travel time" in terminal(*call).out
    done = json.loads(terminal(*call, "--json").out)
    assert done["call"]["arguments"]["speed_factor"] == 0.8
    assert done["from_cache"] is True
    assert runs(terminal) == 1


def test_a_simulator_of_this_folder_is_named_by_its_class(terminal: Terminal) -> None:
    shutil.copy(ROOT / "examples/tank.py", terminal.project / "tank_of_mine.py")
    assert terminal.passes("handbook", "tank_of_mine:Tank").startswith("# A tank")
    call = ("simulate", "tank_of_mine:Tank", "drain", '{"height_m": 1, "hole_cm2": 10}')
    assert "drain through 10.0 cm2 in 7.5 minutes" in terminal.passes(*call)
    assert json.loads(terminal.passes(*call, "--json"))["from_cache"] is True
    said = terminal("handbook", "tank_of_mine:Tub")
    assert said.code == 1
    assert "tank_of_mine:Tub" in said.err
    said = terminal("handbook", "tanc:Tank")
    assert (said.code, "tanc is not installed and not in this folder" in said.err) == (1, True)


def test_handbook_and_params(terminal: Terminal) -> None:
    assert "| speed_factor |" in terminal("handbook", "urban").out
    rows = {row["name"]: row["value"] for row in json.loads(terminal("params", "--json").out)}
    assert rows["answer.samples"] == 5
    assert rows["answer.final_budgets_percent"] == [25, 100]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ask", "  ", "--domain", "urban"), ["question is empty"]),
        (("ask", OTHER, "--domain", "ubran"), ["'ubran' is not a domain", "did you mean 'urban'"]),
        (("simulate", "urban", "run_scenari"), ["run_scenari", "run_scenario"]),
        (("simulate", "urban", "run_scenario", '{"speed_factor": 0.8'), ["not valid JSON"]),
        (("simulate", "urban", "run_scenario", "[1]"), ["JSON object"]),
        (
            ("simulate", "urban", "run_scenario", '{"speed_factor": 9}'),
            ["speed_factor", "less than or equal to 1.5"],
        ),
        (("import-official", "nowhere"), ["nowhere", "questions.json"]),
        (("cache", "import", "nowhere.parquet"), ["nowhere.parquet"]),
        (("stage", "answer"), ["--domain"]),
        (("table", "--results", "nowhere"), ["nowhere/metrics holds no metrics", "--benchmark"]),
        (("figure", "calls", "--out", "a.pdf", "--results", "no"), ["no/metrics holds no metrics"]),
        (("refresh", "--period", "x"), ["'x' is not a period", "2026-11-23T0300Z"]),
        (("refresh",), ["llm.benchmark", "replay", "simulrag use --for-benchmark"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    terminal: Terminal, arguments: tuple[str, ...], words: list[str]
) -> None:
    before = runs(terminal)
    said = terminal(*arguments)
    assert said.code == 2, said.err
    assert said.err.count("\n") == 1
    for word in words:
        assert word in said.err
    assert runs(terminal) == before


def test_files_that_do_not_belong_together(terminal: Terminal) -> None:
    data = terminal.project / "data"
    question = Question(
        question_id="q1", domain="urban", text="Why?", reference_answer="So.", scenario_id="s1"
    )
    written = {f"benchmark/{domain}": question.model_dump_json() for domain in ("urban", "climate")}
    written["answers/urban"] = '{"question_id": "q2", "domain": "urban"}'
    for name, line in written.items():
        file = data / f"{name}.jsonl"
        file.unlink(missing_ok=True)  # a link to a file of other tests
        file.write_text(f"{line}\n")
    said = terminal("stage", "label", "--domain", "urban")
    assert said.code == 2
    assert "q2" in said.err
    other = terminal("stage", "answer", "--domain", "climate")
    assert other.code == 2
    assert "domain urban, not climate" in other.err


def test_an_out_folder_that_cannot_be_made_costs_nothing(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine/urban.jsonl"
    file.write_text(first_question(terminal).model_dump_json() + "\n")
    before = runs(terminal)
    said = terminal("run", "--benchmark", str(file.parent), "--out", "/proc/nope")
    assert said.code == 1
    assert said.err.count("\n") == 1
    assert runs(terminal) == before


def test_a_cache_folder_that_is_a_file(tmp_path: Path, terminal_in: Opened) -> None:
    other = terminal_in(copy_project(tmp_path / "other"))
    (other.project / ".cache").write_text("not a folder")
    said = other("simulate", "urban", "run_scenario")
    assert said.code == 1
    assert ".cache" in said.err


def test_a_tampered_row_is_named_and_costs_nothing_else(terminal: Terminal) -> None:
    call = ("simulate", "urban", "run_scenario", '{"speed_factor": 0.81}')
    assert terminal(*call).code == 0
    (database,) = (terminal.project / ".cache").rglob("cache.db")
    with sqlite3.connect(database) as connection:
        (key,) = connection.execute(
            "select key from Cache where key like 'call/%' and value like ?",
            ('%"speed_factor":0.81,%"tool":"run_scenario"%',),
        ).fetchone()
        connection.execute("update Cache set value = '{\"no\": 1}' where key = ?", (key,))
    made = runs(terminal)
    said = terminal(*call)
    assert said.code == 1
    assert key.removeprefix("call/") in said.err
    assert runs(terminal) == made
    report = terminal("cache", "verify", "--json")
    assert report.code == 1
    assert len(json.loads(report.out)["problems"]) == 1


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
    assert "eclipse-sumo" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_command_stands_in_a_group_of_the_help(terminal: Terminal) -> None:
    said = terminal("--help").out
    assert "\nAsk:\n  ask " in said
    assert "Further:" not in said


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, flows.cli.app; print([m for m in %r if m in sys.modules])"
    heavy = ["prefect", "dvc", "torch", "polars", "openai", "anthropic", "networkx", "pydantic"]
    done = subprocess.run(
        [sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_model_answers_any_question(terminal: Terminal) -> None:
    with LoopbackServer(stand_in()) as server:
        named = ("--domain", "urban", "--model", f"{server.url}#stub", "--json")
        answer = json.loads(terminal("ask", question(3), *named).out)
        asked = len(server.requests)
        again = json.loads(terminal("ask", question(3), *named).out)
        stored = again.pop("source").removeprefix(answer["source"])
        assert stored.startswith("; 3 of its replies were stored (20")
        assert again == {name: value for name, value in answer.items() if name != "source"}
        assert len(server.requests) == asked > 0
    assert answer["source"] == "answered now by openai: stub"
    assert answer["verified"] is True
    assert {one["standing"] for one in answer["statements"]} == {"checked"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--samples", "0", "--method", "paper", "--model", "openai:x"), "'--samples'"),
        (("--samples", "some", "--method", "paper", "--model", "openai:x"), "'--samples'"),
        (("--samples", "2", "--method", "paper"), "name its model by --model"),
        (("--samples", "2", "--model", "openai:x"), "add --method paper"),
        (("--budget", "25", "--model", "openai:x"), "add --method paper"),
        (("--method", "reconciled"), "no such method; give grounded or paper"),
    ],
)
def test_samples_and_budgets_are_the_published_methods(
    terminal: Terminal, arguments: tuple[str, ...], words: str
) -> None:
    said = terminal("ask", OTHER, "--domain", "urban", *arguments)
    assert (said.code, words in said.err) == (2, True)


def test_use_puts_a_model_into_params_and_says_what_a_run_costs(
    finished: Path,
    tmp_path: Path,
    terminal_in: Opened,
) -> None:
    own = terminal_in(copy_finished(finished, tmp_path / "own"))
    said = own("use", "openai:gpt-5-mini")
    assert said.code == 0, said.err
    params = load_params(own.project / "params.yaml")
    assert (params.llm.answer.model, params.llm.judge.model) == ("gpt-5-mini", "gpt-5-mini")
    assert params.llm.benchmark.replay
    assert not params.llm.answer.replay
    assert "USD" in said.out
    assert "operations.budget" in said.out
    wrong = own("use", "gpt-5-mini")
    assert wrong.code == 2
    assert "openai:gpt-5-mini" in wrong.err


def test_use_names_the_key_and_a_free_server_for_all_roles(
    finished: Path,
    tmp_path: Path,
    terminal_in: Opened,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = terminal_in(copy_finished(finished, tmp_path / "own"))
    monkeypatch.setenv("LAB_KEY", "sk-planted-4f1d9b7c2e")
    address = "https://models.example.org/v1#m"
    said = own("use", address, "--key-env", "LAB_KEY", "--free", "--for-benchmark")
    assert said.code == 0, said.err
    params = load_params(own.project / "params.yaml")
    assert params.llm.benchmark == params.llm.answer == params.llm.judge
    assert (params.llm.answer.api_key_env, params.llm.answer.paid) == ("LAB_KEY", False)
    assert re.search(r"^`simulrag run`: about [\d,]+ calls, .*; about \d", said.out, re.M)
    assert "operations.budget" not in said.out
    written = (own.project / "params.yaml").read_text()
    assert "planted" not in said.out + said.err + written
    monkeypatch.delenv("LAB_KEY")
    unset = own.passes("use", address, "--key-env", "LAB_KEY")
    assert "LAB_KEY is not set here" in unset
    assert "needs operations.budget" in unset  # an address of somebody else's, and not said free


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("local:nowhere.gguf",), "nowhere.gguf (No such file or directory)"),
        (("openai:gpt-5-mini", "--free"), "--free is for a server of your own"),
        (("http://127.0.0.1:1/v1#m", "--key-env", "sk-9b7c2e"), "not the key itself"),
    ],
)
def test_use_checks_before_it_writes(
    arguments: tuple[str, ...], why: str, terminal: Terminal
) -> None:
    before = (terminal.project / "params.yaml").read_bytes()
    said = terminal("use", *arguments)
    assert said.code == 2
    assert why in said.err
    assert "9b7c2e" not in said.err
    assert (terminal.project / "params.yaml").read_bytes() == before


def test_ask_sends_the_key_that_is_named(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-planted-4f1d9b7c2e")
    with LoopbackServer(stand_in()) as server:
        named = ("--domain", "urban", "--model", f"{server.url}#stub", "--key-env", "LAB_KEY")
        said = terminal("ask", question(7), *named, "--free")
        assert said.code == 0, said.err
        assert server.requests[0].headers["authorization"] == "Bearer sk-planted-4f1d9b7c2e"
    assert "planted" not in said.out + said.err
    alone = terminal("ask", question(7), "--key-env", "LAB_KEY")
    assert (alone.code, "--model" in alone.err) == (2, True)
