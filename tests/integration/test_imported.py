"""A folder of imported questions from its plan to its tables: `simulrag run --benchmark`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from simulrag.questions.published import read_questions
from simulrag.testing import LoopbackServer, stand_in
from tests.integration.projects import (
    SIMULRAG,
    change_params,
    copy_project,
    environment_of,
    stub_model,
    stub_roles,
    wait_for_requests,
)
from tests.integration.terminal import Opened

pytestmark = pytest.mark.slow

FOLDER = "data/published/questions"
DOMAINS = ("climate", "epidemiology", "urban")
IN_FLIGHT = 8


def asked(server: LoopbackServer) -> list[str]:
    """What the server was asked, request by request."""
    return [json.dumps(request.body, sort_keys=True) for request in server.requests]


def test_from_the_plan_to_the_tables_and_nothing_is_paid_twice(
    tmp_path: Path, terminal_in: Opened
) -> None:
    with LoopbackServer(stand_in()) as server:
        terminal = terminal_in(copy_project(tmp_path / "project", **stub_roles(server.url)))
        few = ("--benchmark", FOLDER, "--limit", "1")
        planned = terminal.passes("plan", *few)
        assert not server.requests
        assert re.search(r"^time: about .* as assumed, 1 s a call", planned, re.M)
        assert [name for name in DOMAINS if f"answer@{name}" not in planned] == []

        first = terminal.passes("run", *few)
        outs = terminal.project / "data/runs/questions"
        assert all(len(read_questions(outs / f"benchmark/{name}.jsonl")) == 1 for name in DOMAINS)
        assert "Report: data/runs/questions/report/index.html" in first
        tables = {path.name for path in (outs / "report/tables").iterdir()}
        assert {f"table1.{suffix}" for suffix in ("csv", "md", "tex")} <= tables
        rows = (outs / "report/tables/table1.csv").read_text(encoding="utf-8").splitlines()
        assert rows[0].startswith('Domain,"Metric, budget",Method,openai: stub')
        assert {row.partition(",")[0] for row in rows[1:]} == {
            f"{name} (n = 1)" for name in DOMAINS
        }
        assert not (terminal.project / "data/answers/urban.jsonl").exists()

        made = len(server.requests)
        before = (outs / "metrics/urban.csv").read_bytes()
        said = terminal("run", *few)
        assert len(server.requests) == made > 0
        assert (outs / "metrics/urban.csv").read_bytes() == before
        assert re.search(r"answer-urban: ([\d,]+) of about \1 calls are stored", said.err)

        more = terminal.passes("plan", "--benchmark", FOLDER, "--limit", "2")
        (measured,) = re.findall(r"^time: about .* as measured on (\d+) calls", more, re.M)
        assert 0.9 * made <= int(measured) <= made, "but for texts that hang on another kappa"
        terminal.passes("run", "--benchmark", FOLDER, "--limit", "2", "--out", "elsewhere")
        assert set(Counter(asked(server)).values()) == {1}
        chosen = read_questions(outs / "benchmark/urban.jsonl")
        assert chosen[0] in read_questions(Path("elsewhere/benchmark/urban.jsonl"))


def test_ctrl_c_says_what_is_kept_and_the_next_run_goes_on(tmp_path: Path) -> None:
    changes = {"operations.concurrency": IN_FLIGHT, "answer.beside": []}
    with LoopbackServer(stand_in(), latency_s=0.05) as server:
        project = copy_project(tmp_path / "project", **stub_roles(server.url), **changes)
        command = [*SIMULRAG, "run", "--benchmark", FOLDER, "--limit", "2"]

        def started() -> subprocess.Popen[str]:
            return subprocess.Popen(
                command,
                cwd=project,
                env=environment_of(project),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        interrupted = started()
        wait_for_requests(server, 22)
        interrupted.send_signal(signal.SIGINT)
        _, errors = interrupted.communicate(timeout=60)
        assert interrupted.returncode == 130
        assert "Traceback" not in errors
        assert "RuntimeWarning" not in errors
        assert errors.count("interrupted") == 1
        # What it had done when it was interrupted.
        assert re.search(r"answer-\w+: \d+ calls \(\d+ cached, \d+ made\)", errors)

        last = started()
        _, errors = last.communicate(timeout=300)
        assert last.returncode == 0, errors
        repeated = Counter(asked(server)).total() - len(set(asked(server)))
        assert repeated <= IN_FLIGHT


def test_without_a_budget_it_states_the_plan_and_makes_no_call(
    tmp_path: Path, terminal_in: Opened
) -> None:
    project = copy_project(tmp_path / "project")
    terminal = terminal_in(project)
    with LoopbackServer(stand_in()) as server:
        paid = stub_model(server.url, model="gpt-5-mini", paid=True)
        change_params(project, **{"llm.answer": paid, "llm.judge": paid})
        said = terminal("run", "--benchmark", FOLDER, "--limit", "1")
        assert not server.requests
    assert said.code == 2
    assert "answer@urban (openai:gpt-5-mini): about" in said.out
    assert "Set operations.budget in params.yaml" in said.err


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("run", "--benchmark", "prompts"), "prompts is no folder with question files"),
        (("run", "report", "--benchmark", FOLDER), "name no stages"),
        (("run", "--limit", "3"), "go with --benchmark"),
        (("run", "--as-published"), "go with --benchmark"),
        (("plan", "--exact"), "go with --benchmark"),
        (("plan", "--limit", "3"), "go with --benchmark"),
        (("run", "--benchmark", "others"), "holds questions of domain urban, not others"),
        (("run", "--benchmark", "bare"), "'elsewhere' is not a domain"),
    ],
)
def test_what_cannot_be_run_is_said(
    command: tuple[str, ...],
    why: str,
    tmp_path: Path,
    terminal_in: Opened,
) -> None:
    terminal = terminal_in(copy_project(tmp_path / "project"))
    question = Path(FOLDER, "urban.jsonl").read_text().splitlines()[0]
    for name, changes in (
        ("others/others", {}),
        ("bare/elsewhere", {"evidence": [], "domain": "elsewhere"}),
    ):
        file = Path(f"{name}.jsonl")
        file.parent.mkdir()
        file.write_text(json.dumps({**json.loads(question), **changes}))
    said = terminal(*command)
    assert said.code == 2, said
    assert why in said.err


def test_all_domains_of_the_authors_repository_are_imported(
    tmp_path: Path, terminal_in: Opened
) -> None:
    terminal = terminal_in(copy_project(tmp_path / "project"))
    entry = {"question": "?", "reference_answer": "A.", "derived_quantitative_answer": "3"}
    for name in ("climate", "urban"):
        for file in (f"data/{name}/questions.json", f"data/cache/{name}/simulator_evidence.json"):
            path = tmp_path / "SimulRAG" / file
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps([entry]))
    said = terminal.passes("import-official", str(tmp_path / "SimulRAG/data"))
    assert "urban: 1 questions on 1 distinct scenarios -> data/imported/urban.jsonl" in said
    assert "simulrag run --benchmark data/imported" in said
    assert [one.domain for one in read_questions("data/imported/climate.jsonl")] == ["climate"]
    wrong = terminal("import-official", str(tmp_path / "SimulRAG/data"), "--domain", "urban")
    assert (wrong.code, "several domains" in wrong.err) == (2, True)
