"""A run of which a part failed: from `operations.report_from` on there are tables all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.models.base import Message
from simulrag.stand_in import section
from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.wires import Body, messages, schema_name
from tests.integration.projects import change_params, copy_project, dvc, simulrag, stub_roles

pytestmark = pytest.mark.slow
QUESTIONS = 4


class Failing:
    """Stand-ins; of the first ``count`` questions no audit can be used, until it is 0."""

    def __init__(self) -> None:
        self.count = 0
        self.seen: dict[str, None] = {}
        self.answer = stand_in()

    def __call__(self, body: Body) -> str:
        if schema_name(body) != "AuditReply":
            return self.answer(body)
        shown = [Message.model_validate(message) for message in messages(body)]
        question = section(shown, "question") or ""
        self.seen.setdefault(question)
        return "no" if question in [*self.seen][: self.count] else self.answer(body)


@pytest.fixture
def failing() -> Failing:
    return Failing()


@pytest.fixture
def project(tmp_path: Path, failing: Failing) -> Iterator[Path]:
    with LoopbackServer(failing) as server:
        changes = {"benchmark.questions": QUESTIONS, "answer.beside": []}
        folder = copy_project(tmp_path / "project", **changes, **stub_roles(server.url))
        change_params(folder, **{"metrics.bootstrap": 100, "metrics.random_seeds": 5})
        dvc(folder, "init", "--no-scm", "-q")
        yield folder


def answered(project: Path) -> int:
    lines = (project / "data/answers/urban.jsonl").read_text().splitlines()
    return sum(json.loads(line)["failure"] is None for line in lines)


@pytest.mark.parametrize(("lost", "reported"), [(1, True), (2, True), (3, False)])
def test_what_came_through_is_reported_and_the_rest_made_again(
    project: Path, failing: Failing, lost: int, reported: bool
) -> None:
    failing.count = lost
    done = simulrag(project, "run")
    assert (done.returncode, answered(project)) == (1, QUESTIONS - lost)
    words = f"answer-urban: {QUESTIONS - lost} of {QUESTIONS} came through"
    assert words in done.stderr
    assert (project / "data/report/index.html").is_file() == reported
    assert ("Report: data/report/index.html" in done.stdout) == reported
    assert (f"warning: going on with what came through: {words}" in done.stderr) == reported
    assert (f"{lost} of {QUESTIONS} questions have no answer" in done.stdout) == reported

    failing.count = 0
    again = simulrag(project, "run")
    assert (again.returncode, answered(project)) == (0, QUESTIONS), again.stderr[-2000:]
    assert "have no answer" not in again.stdout


def test_imported_questions_are_reported_alike(project: Path, failing: Failing) -> None:
    simulrag(project, "stage", "simulators", check=True)
    simulrag(project, "stage", "benchmark", "--domain", "urban", check=True)
    failing.count = 1
    done = simulrag(project, "run", "--benchmark", "data/benchmark", "--out", "there")
    assert done.returncode == 1
    assert f"answer-urban: {QUESTIONS - 1} of {QUESTIONS} came through" in done.stderr
    assert f"1 of {QUESTIONS} questions have no answer" in done.stdout
    assert list((project / "there").rglob("index.html"))
