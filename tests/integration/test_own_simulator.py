"""The reservoir that `simulrag simulators new` writes through all stages, as its owner runs them.

A package with an entry point in a folder of PYTHONPATH, params.yaml, and a model on 127.0.0.1.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flows.files import read_records, read_table
from flows.project import Project, Results
from simulrag.metrics.table import read_table as read_metrics
from simulrag.metrics.table import select
from simulrag.records import DECIDED, Answer, Label, Question
from simulrag.testing import LoopbackServer
from simulrag.testing.loopback import stand_in
from tests.integration.projects import change_params, copy_project, simulrag
from tests.integration.terminal import Opened
from tests.unit.questions.test_by_hand import block
from tests.unit.simulators import reservoir

QUESTIONS = 4


def came_through(project: Path, domain: str) -> list[Question]:
    """The questions of a domain, each answered, judged, measured and shown in the report."""
    place = Project(project).results
    questions = read_records(place.benchmark(domain), Question)
    assert len(questions) == QUESTIONS
    answers = read_records(place.answers(domain), Answer)
    assert len(answers) == QUESTIONS
    for answer in answers:
        assert answer.failure is None
        assert answer.verified
        assert {evidence.simulator for evidence in answer.evidence} == {domain}
        assert any(claim.verdict and claim.verdict.status in DECIDED for claim in answer.claims)
    assert {"true", "false"} <= {row.label for row in read_table(place.labels(domain), Label)}
    table = read_metrics(place.metrics_table(domain))
    final = select(table, family="answers", metric="factuality", undecided="excluded")
    assert {"grounded", "simulrag", "input_rag"} <= set(final["method"])
    assert domain in place.report.read_text()
    return questions


def test_an_installed_simulator_runs_before_it_is_a_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source())
    project = copy_project(tmp_path / "project")
    path = os.pathsep.join(map(str, (project, tmp_path)))
    call = ("run_scenario", '{"inflow_m3_per_day": 10000}')
    said = simulrag(project, "simulate", "reservoir", *call, check=True, PYTHONPATH=path).stdout
    assert "is 50.0 days." in said
    told = simulrag(project, "handbook", "reservoir", check=True, PYTHONPATH=path).stdout
    assert "### run_for_days" in told


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("own_plugin:Reservoir", ()),
        ("own_plugin:Reservoir", ("learning_rate: 3",)),  # a project of another kind
        ("reservoir", ()),
    ],
)
def test_outside_of_a_project_it_tells_its_handbook_and_runs(
    name: str,
    params: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    terminal_in: Opened,
) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    alone = tmp_path / "alone"
    alone.mkdir()
    for text in params:
        (alone / "params.yaml").write_text(text)
    terminal = terminal_in(alone)
    assert "### run_for_days" in terminal("handbook", name).out
    call = ("simulate", name, "run_scenario", '{"inflow_m3_per_day": 10000}', "--json")
    first, again = (json.loads(terminal(*call).out) for _ in range(2))
    assert first["outputs"] == {"days_until_empty": 50.0}
    assert (first["from_cache"], again["from_cache"]) == (False, True)
    assert (tmp_path / "user/simulrag/calls").is_dir()


def test_outside_of_a_project_an_unknown_name_is_told(terminal_in: Opened, tmp_path: Path) -> None:
    said = terminal_in(tmp_path)("handbook", "urbn")
    assert said.code == 2
    assert "no simulator 'urbn' is registered; known: " in said.err


def by_hand(project: Path, path: str, server: LoopbackServer) -> None:
    """The guide's templates in the place of the model's, and its questions to the report."""
    place = Project(project).results
    made = {file: file.read_bytes() for file in place.data.rglob("reservoir*.*")}
    identity = json.loads(place.simulator("reservoir").read_text())
    (project / "mine.yaml").write_text(block("- template_id: "))
    (project / "mine").mkdir()
    (project / "mine/reservoir.jsonl").write_text(block('{"question_id"'))
    before = (project / "params.yaml").read_text()
    change_params(project, **{"simulators.reservoir.templates_file": "mine.yaml"})
    simulrag(project, "stage", "simulators", check=True, PYTHONPATH=path)
    other = json.loads(place.simulator("reservoir").read_text())
    assert other.keys() - identity.keys() == {"templates_file_sha256"}
    asked = len(server.requests)
    simulrag(project, "stage", "benchmark", "-d", "reservoir", check=True, PYTHONPATH=path)
    drawn = read_records(place.benchmark("reservoir"), Question)
    assert {one.template_id for one in drawn} <= {"dry-summer", "saving-water"}
    schemas = {one.schema_name for one in server.requests[asked:]}
    assert "BenchmarkQuestion" in schemas
    assert not schemas & {"Templates", "SetUpTemplates"}
    (project / "params.yaml").write_text(before)
    simulrag(project, "run", "--benchmark", "mine", check=True, PYTHONPATH=path)
    answers = read_records(Results(project / "data/runs/mine").answers("reservoir"), Answer)
    assert len(answers) == 3
    for file, content in made.items():
        file.write_bytes(content)


@pytest.mark.slow
def test_a_package_with_an_entry_point_goes_from_questions_to_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    reservoir.install(packages, monkeypatch, reservoir.source())
    with LoopbackServer(stand_in()) as server:
        own = {"name": "reservoir", "settings": {"volume_m3": 3e6}}
        changes = {
            "domains": ["urban", "reservoir"],
            "simulators": {"urban": {"name": "urban"}, "reservoir": own},
        }
        project = copy_project(tmp_path / "project", **changes)
        path = os.pathsep.join(map(str, (project, packages)))
        simulrag(project, "stage", "simulators", check=True, PYTHONPATH=path)
        alone = simulrag(project, "stage", "benchmark", "-d", "reservoir", PYTHONPATH=path)
        assert "simulators.reservoir.benchmark_model" in alone.stderr
        assert "Traceback" not in alone.stderr
        used = simulrag(project, "use", f"{server.url}#stub", check=True, PYTHONPATH=path).stdout
        assert "simulators.reservoir.benchmark_model is it too" in used
        # The recorded domain keeps its questions: they are replayed, and nobody is asked.
        simulrag(project, "stage", "benchmark", "-d", "urban", check=True, PYTHONPATH=path)
        assert not server.requests
        few = {"benchmark.questions": QUESTIONS, "benchmark.templates": 1}
        change_params(project, domains=["reservoir"], **few)
        for stage in ("benchmark", "answer", "label", "metrics"):
            of = ("stage", stage, "--domain", "reservoir")
            simulrag(project, *of, check=True, PYTHONPATH=path)
        simulrag(project, "stage", "report", check=True, PYTHONPATH=path)
        by_hand(project, path, server)
        there = json.loads(Project(project).results.simulator("reservoir").read_text())
        assert there["domain"] == "reservoir"

    for question in came_through(project, "reservoir"):
        (run,) = question.evidence
        assert isinstance(run.call.arguments["inflow_m3_per_day"], float)
        assert set(run.outputs) == {"days_until_empty"}
