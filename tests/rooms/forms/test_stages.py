"""Answers by form from nothing, documents, runs and both: to the report, and by batch files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flows.cli.app import app
from flows.cli.main import ended
from flows.files import read_records, write_records
from rooms.forms.records import (
    ChoiceQuestion,
    ClozeQuestion,
    FormAnswer,
    FormScore,
    FreeformQuestion,
)
from simulators.library import encoder
from simulrag.metrics.table import read_table, select
from simulrag.models.batch.rounds import fetch, submit
from simulrag.models.pending import PendingStore
from simulrag.testing import LoopbackServer, stand_in
from tests.integration.projects import change_params, copy_finished, copy_project

pytestmark = pytest.mark.slow
NOTES = (
    f"# Junctions\n\n{'A priority junction lets a corridor pass, so that cars idle less. ' * 5}\n"
)
OPTIONS = ("It falls.", "It rises.", "It stays.", "It doubles.")
CONDITIONS = ("nothing", "library", "simulator", "both")


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(stand_in()) as running:
        yield running


def changes(server: LoopbackServer, **more: Any) -> dict[str, Any]:
    model = {"provider": "openai", "model": "stub", "base_url": server.url}
    documents = {"files": ["notes.md"], "licence": "CC0", "attribution": "us"}
    forms = {"sources": ["urban"], "documents": {"urban": documents}}
    return {"llm.answer": model, "llm.judge": model, "forms": forms, **more}


def typed(*arguments: str) -> int:
    return ended(lambda: app(arguments))


def prepared(project: Path, monkeypatch: pytest.MonkeyPatch, *, seeds: int = 1) -> Path:
    """Four questions a seed, and a corpus."""
    monkeypatch.chdir(project)
    (project / "notes.md").write_text(NOTES)
    assert typed("stage", "corpus", "--domain", "urban") == 0
    asked = []
    for n in range(seeds):
        about: dict[str, Any] = {"scenario_id": f"s{n}", "source": "urban"}
        stem = f"In scheme {n}, how does idling change?"
        asked += [
            ChoiceQuestion(question_id=f"a{n}", text=stem, options=OPTIONS, answer=0, **about),
            FreeformQuestion(question_id=f"b{n}", text=stem, answer="It falls.", **about),
            FreeformQuestion(
                question_id=f"c{n}", text=f"Why? {stem}", answer="So.", level="reasoning", **about
            ),
            ClozeQuestion(
                question_id=f"d{n}", text=f"In {n} <MASK> falls.", answer="idling", **about
            ),
        ]
    write_records(project / "data/forms/urban/benchmark.jsonl", asked)
    return project


def test_four_conditions_to_tables_and_a_report(
    finished: Path, tmp_path: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = copy_finished(finished, tmp_path / "project", **changes(server))
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    prepared(project, monkeypatch, seeds=3)
    assert typed("stage", "forms_answer", "--domain", "urban") == 0
    answers = read_records(project / "data/forms/urban/answers.jsonl", FormAnswer)
    assert Counter(one.condition for one in answers) == dict.fromkeys(CONDITIONS, 12)
    shown = {one.condition: {item.simulator for item in one.evidence} for one in answers}
    assert shown == {
        "nothing": set(),
        "library": {"library"},
        "simulator": {"urban"},
        "both": {"library", "urban"},
    }
    assert typed("stage", "forms_metrics", "--domain", "urban") == 0
    scores = read_records(project / "data/forms/urban/scores.jsonl", FormScore)
    assert all(one.values["label_mass"] == 1 for one in scores if one.form == "freeform")
    table = read_table(project / "data/metrics/forms-urban.csv")
    assert set(select(table, family="forms")["method"]) == set(CONDITIONS)
    assert "fa[stub]" in set(table["metric"])
    (why,) = set(select(table, metric="ps[all-MiniLM-L6-v2]", family="forms")["reason"])
    assert "library-dense" in why
    assert typed("stage", "report") == 0
    page = (project / "data/report/methods.html").read_text()
    assert "Questions by form" in page
    assert "ClimaQA" in page
    files = {path.name for path in (project / "data/report/tables").glob("urban-forms-*.csv")}
    assert files >= {"urban-forms-choice.csv", "urban-forms-examples.csv"}
    asked = len(server.requests)
    before = (project / "data/metrics/forms-urban.csv").read_bytes()
    for stage in ("forms_answer", "forms_metrics"):
        assert typed("stage", stage, "--domain", "urban") == 0
    assert len(server.requests) == asked
    assert (project / "data/metrics/forms-urban.csv").read_bytes() == before


def test_by_batch_files(
    tmp_path: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log-probabilities come back by a batch too."""
    project = copy_project(
        tmp_path / "project", **changes(server, **{"operations.mode": "deferred"})
    )
    prepared(project, monkeypatch)
    rounds = []
    for stage in ("forms_answer", "forms_metrics"):
        while (code := typed("stage", stage, "--domain", "urban")) == 75:
            with closing(PendingStore(_place(project))) as store:
                rounds += [one.requests for one in submit(store, lambda *_: None, again=False)]
                fetch(store)
        assert code == 0
    assert len(rounds) == 3  # tool calls and what needs none; the rest; the judge
    scores = read_records(project / "data/forms/urban/scores.jsonl", FormScore)
    told = [one.values["fa"] for one in scores if one.form == "freeform"]
    assert len(told) == 8
    assert set(told) <= {0.0, 1.0}


def _place(project: Path) -> Any:
    from flows.params import load_params

    return load_params(project / "params.yaml").operations.place(project)


def test_an_evaluator_without_log_probabilities(
    tmp_path: Path,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge = {"provider": "anthropic", "model": "stub", "base_url": server.url}
    project = copy_project(tmp_path / "project", **changes(server, **{"llm.judge": judge}))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    prepared(project, monkeypatch)
    assert typed("stage", "forms_metrics", "--domain", "urban") == 2  # nothing is answered yet
    assert "answers.jsonl cannot be read" in capsys.readouterr().err
    assert typed("stage", "forms_answer", "--domain", "urban") == 0
    assert typed("stage", "forms_metrics", "--domain", "urban") == 2
    assert "which the task 'forms_entail' asks for" in capsys.readouterr().err
    change_params(project, **{"forms.answer": {"evidence": {"urban": ["urban", "urban"]}}})
    assert typed("stage", "forms_answer", "--domain", "urban") == 2
    assert "two of the kind simulator" in capsys.readouterr().err
    change_params(project, **{"forms.metrics": {"factual": "stated"}})
    assert typed("stage", "forms_metrics", "--domain", "urban") == 0
    scores = read_records(project / "data/forms/urban/scores.jsonl", FormScore)
    free = [one.values for one in scores if one.form == "freeform"]
    assert free
    assert all(one["fa"] == (one["p_supports"] if one.get("number", 1) else 0) for one in free)
    assert "fa[stub, stated]" in set(read_table(project / "data/metrics/forms-urban.csv")["metric"])
    lines = (project / "data/forms/urban/answers.jsonl").read_text().splitlines()
    other = json.dumps({**json.loads(lines[0]), "question_id": "z"})
    (project / "data/forms/urban/answers.jsonl").write_text(other + "\n")
    assert typed("stage", "forms_metrics", "--domain", "urban") == 2
    assert "answers 'z', which is no question of urban" in capsys.readouterr().err
