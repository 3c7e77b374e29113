"""The stage: from the outs of a folder to the page, people before the judge."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from flows.files import write_records, write_table
from flows.params import load_params
from flows.params_file import changed
from flows.project import Project, Results
from flows.report.run import LabelTable
from flows.stages.report import write
from simulrag.errors import InputError
from simulrag.judging.people import HumanLabel, majority_label
from simulrag.metrics.table import write_table as write_metrics
from simulrag.records import Label, claim_hash
from tests.unit.metrics.synthetic import study
from tests.unit.report.made import RECORDED, rows

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The outs of one domain, and parameters that replay a recorded model."""
    shutil.copyfile(ROOT / "params.yaml", tmp_path / "params.yaml")
    made, place = study(4), Results(tmp_path / "data")
    write_records(place.benchmark("urban"), made.questions)
    write_records(place.answers("urban"), made.answers)
    write_table(place.labels("urban"), made.labels, Label)
    write_metrics(place.metrics / "urban.csv", rows())
    first = made.labels[0]
    said = HumanLabel(
        question_id=first.question_id,
        claim_hash=first.claim_hash,
        text=first.text,
        label="undecided",
        annotator="ada",
    )
    write_records(place.human_labels, [said])
    (tmp_path / "data/recorded").mkdir()
    (tmp_path / "data/recorded/RECORDED.md").write_text(RECORDED, encoding="utf-8")
    return Project(tmp_path)


def page(project: Project) -> str:
    params = load_params(project.params).model_copy(update={"domains": ["urban"]})
    tables = write(project, params, project.results)
    assert [table.name for table in tables] == ["answers"]
    first = project.results.report
    pages = (first, first.with_name("methods.html"))
    return "".join(path.read_text(encoding="utf-8") for path in pages)


def test_a_replayed_run_says_how_it_was_recorded(project: Project) -> None:
    text = page(project)
    assert "anthropic: claude, replayed from recorded calls" in text
    assert "<li>Tokens were not counted.</li>" in text
    assert "1 of 1 labelled claims with a disagreement" in text
    assert (project.results.report.parent / "tables/answers.tex").is_file()


def test_questions_replayed_and_answers_of_a_model_of_ones_own_are_told_apart(
    project: Project,
) -> None:
    own = {"provider": "openai", "model": "gpt-5-mini"}
    text = changed(project.params, {"llm.answer": own, "llm.judge": own})
    project.params.write_text(text, encoding="utf-8")
    shown = page(project)
    assert "anthropic: claude (replayed from recorded calls), openai: gpt-5-mini" in shown
    assert "How the calls of the benchmark model were recorded" in shown


def test_a_run_of_a_model_of_ones_own_says_nothing_of_recording(project: Project) -> None:
    text = project.params.read_text(encoding="utf-8")
    recorded = "provider: anthropic, model: claude, replay: true"
    assert recorded in text
    own = text.replace(recorded, "provider: openai, model: gpt-5-mini")
    project.params.write_text(own, encoding="utf-8")
    text = page(project)
    assert "openai: gpt-5-mini" in text
    assert "recorded" not in text.partition("Questions, one by one</h2>")[0]


def test_an_answer_without_its_question(project: Project) -> None:
    write_records(project.results.benchmark("urban"), study(4).questions[:2])
    with pytest.raises(InputError, match="which is not in the benchmark"):
        page(project)
    assert not project.results.report.exists()


def test_outs_that_are_missing_or_broken_are_named(project: Project) -> None:
    project.results.labels("urban").write_bytes(b"not parquet")
    with pytest.raises(InputError, match=r"urban\.parquet is not a table of labels"):
        page(project)
    project.results.labels("urban").unlink()
    with pytest.raises(InputError, match=r"urban\.parquet is not there"):
        page(project)


TEXT, OTHER = "Travel time rises.", "Idling falls."


def judge() -> pl.DataFrame:
    rows = [
        ("q2", OTHER, "false", "by the reference", None),
        ("q1", TEXT, "true", "by the reference", None),
        ("q2", TEXT, None, "", "the judge timed out"),
    ]
    return pl.DataFrame(
        [(q, claim_hash(text), text, label, why, failure) for q, text, label, why, failure in rows],
        schema=["question_id", "claim_hash", "text", "label", "reason", "failure"],
        orient="row",
    )


def test_people_come_before_the_judge() -> None:
    said = HumanLabel(
        question_id="q2", claim_hash=claim_hash(OTHER), text=OTHER, label="true", annotator="ada"
    )
    labels = LabelTable(judge(), majority_label([said]))
    assert labels.of("q1")[claim_hash(TEXT)].label == "true"
    found = labels.of("q2")
    assert found[claim_hash(OTHER)].label == "true"
    assert found[claim_hash(OTHER)].reason == "by people: ada: true"
    assert found[claim_hash(TEXT)].label == "missing"
    assert found[claim_hash(TEXT)].reason == "the judge timed out"
    assert labels.of("unknown") == {}
    (one,) = labels.by_people("q2")
    assert (one.human, one.how, one.judge) == ("true", "one annotator", "false")
