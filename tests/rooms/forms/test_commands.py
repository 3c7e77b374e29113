"""Questions by form through the command line and the stages; what they will cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.cli.app import app
from flows.cli.main import ended
from flows.params import load_params
from flows.plan import make_plan
from flows.project import Project
from rooms.forms.files import read_forms
from simulrag.errors import InputError
from simulrag.testing import LoopbackServer, stand_in
from tests.integration.projects import ROOT, copy_project
from tests.rooms.planning import PAID, planned, to_plan_in


def test_every_stand_in_fits_the_step_that_asked_for_it(tmp_path: Path) -> None:
    """Of questions to be made from runs, so that nothing is left uncounted."""
    models = {f"llm.{role}": PAID for role in ("benchmark", "answer", "judge")}
    wanted = {"benchmark.questions": 2, "forms.sources": ["urban"], "forms.questions": 6}
    stages = [f"forms_{name}" for name in ("benchmark", "answer", "metrics")]
    found = planned(to_plan_in(tmp_path, **models, **wanted), *stages)
    assert {stage for stage, _ in found} == {f"{name}@urban" for name in stages}
    assert all(task.calls and task.input_tokens and task.output_tokens for task in found.values())


MADE = "forms_benchmark"
TEXTBOOK = ROOT / ".." / "shared" / "textbooks" / "climate-laboratory.jsonl"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer) -> Path:
    folder = copy_project(
        tmp_path / "project",
        **{"llm.benchmark": {"provider": "openai", "model": "m", "base_url": server.url}},
    )
    (folder / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(folder)
    return folder


def typed(*arguments: str) -> int:
    return ended(lambda: app(arguments))


@pytest.mark.slow
def test_thirty_audited_questions_of_a_textbook(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not TEXTBOOK.is_file():
        pytest.skip(f"{TEXTBOOK.name} is not beside the project")
    again = ["forms", "generate", str(TEXTBOOK), "--out"]
    assert typed(*again, "questions.jsonl") == 0
    found = read_forms(project / "questions.jsonl")
    assert len(found) == 30
    assert all(one.valid.passed and one.contexts[0].licence == "CC BY 4.0" for one in found)
    kinds = Counter((one.form, one.level) for one in found)
    assert kinds.keys() >= {
        *((form, "base") for form in ("choice", "freeform", "cloze")),
        *((form, "hypothetical") for form in ("choice", "freeform")),
        *((form, "reasoning") for form in ("choice", "freeform")),
    }
    assert "requested | 30" in capsys.readouterr().out
    assert typed(*again, "again.jsonl") == 0  # every call is a hit
    assert (project / "again.jsonl").read_bytes() == (project / "questions.jsonl").read_bytes()


@pytest.mark.slow
def test_the_stages_ask_about_documents_and_about_runs(
    project: Path, server: LoopbackServer
) -> None:
    text = (project / "params.yaml").read_text()
    forms = {
        "sources": ["urban", "docs"],
        "documents": {"docs": {"files": ["docs"], "licence": "Apache-2.0", "attribution": "us"}},
        "questions": 6,
        "metrics": {"factual": "stated"},
    }
    params = text.replace(text[text.index("\nforms:") : text.index("\nmetrics:")], "")
    (project / "params.yaml").write_text(f"{params}\nforms: {json.dumps(forms)}\n")
    before = {row.task: row for row in make_plan(Project(project)).tasks if MADE in row.stage}
    assert before["forms_run"].calls > 0
    for source in ("urban", "docs"):
        assert typed("stage", "corpus", "--domain", source) == 0
        assert typed("stage", "forms_benchmark", "--domain", source) == 0
        found = read_forms(project / "data/forms" / source / "benchmark.jsonl")
        assert len(found) == 6
        assert {one.source for one in found} == {source}
    assert list((project / "data/corpus/urban").iterdir()) == []
    made = len(server.requests)
    left = [row for row in make_plan(Project(project)).tasks if MADE in row.stage]
    assert sum(row.calls for row in left) == 0
    assert {row.task for row in left} >= {"forms_run", "forms_write", "forms_term", "forms_audit"}
    assert len(server.requests) == made


@pytest.mark.slow
def test_in_batches_each_round_holds_all_that_can_be_asked(project: Path) -> None:
    text = (project / "params.yaml").read_text().replace("mode: normal", "mode: deferred")
    (project / "params.yaml").write_text(text.replace("base_url:", "base_url: null #"))
    assert typed("library", "build", "c", "docs", "--licence", "x", "--attribution", "us") == 0
    ask = ["forms", "generate", "c", "--out", "q.jsonl", "--questions", "3"]
    answer, rounds = stand_in(), 0
    while typed(*ask) == 75:
        rounds += 1
        assert typed("batch", "export", "--plain", "asked.jsonl") == 0
        asked = [json.loads(line) for line in (project / "asked.jsonl").read_text().splitlines()]
        replies = [
            {"custom_id": one["custom_id"], "model": "m", "text": answer(_body(one))}
            for one in asked
        ]
        (project / "told.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies))
        assert typed("batch", "import", "told.jsonl") == 0
    assert rounds % 4 == 0  # base and statement, heir and term, second reader, auditor
    assert len(read_forms(project / "q.jsonl")) == 3


def _body(asked: dict[str, object]) -> dict[str, object]:
    schema = {"name": dict(asked["schema"])["title"], "schema": asked["schema"]}  # type: ignore[call-overload]
    kind = {"type": "json_schema", "json_schema": schema}
    return {"messages": asked["messages"], "response_format": kind}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generate", "nowhere", "--out", "x"], "neither documents nor a simulator"),
        (["generate", "t.txt", "--out", "x"], "carries no licence"),
        (["generate", "urban", "--out", "x", "--questions", "0"], "ask for 1 or more"),
        (["export", "t.txt", "--format", "inspect", "--out", "x"], "t.txt:1"),
        (["import-climaqa", "none.csv"], "cannot be read"),
        (["import-climaqa", "t.txt", "--columns", "question"], "question=COLUMN"),
    ],
)
def test_what_cannot_be_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (project / "t.txt").write_text("A text. " * 100)
    assert typed("forms", *arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_a_source_that_nobody_knows_is_named(project: Path) -> None:
    text = (project / "params.yaml").read_text().replace("sources: []", "sources: [ubran]")
    (project / "params.yaml").write_text(text)
    with pytest.raises(InputError, match=r"forms\.sources: 'ubran' not among"):
        load_params(project / "params.yaml")
