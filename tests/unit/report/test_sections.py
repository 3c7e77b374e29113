"""What the sections say of a long table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from simulrag import registry
from simulrag.metrics.published import read_published
from simulrag.records import Answer, Evidence, Retrieval, ToolCall
from simulrag.report.blocks import Figure, Table, Text
from simulrag.report.run import DomainTable, LabelledByPeople, ReportedRun, RunSummary
from simulrag.report.sections import answers, overview, people, published, sections
from simulrag.report.sections.documents import credited
from tests.unit.report.made import NOT_COUNTED, RECORDED, looked_up, reconciled_rows, rows, run_of

PUBLISHED = Path(__file__).resolve().parents[3] / "data" / "published"


def tables(run: ReportedRun, key: str) -> list[Table]:
    section = next(one for one in sections() if one.key == key)
    return [block for block in section.blocks(run) if isinstance(block, Table)]


def test_every_family_is_shown() -> None:
    run = run_of()
    shown = {one.key for one in sections() if list(one.blocks(run))}
    off = {"people", "published", "documents"}
    off |= {page.SECTION.key for page in registry.each("page")}
    assert shown == {one.key for one in sections()} - off
    figures = [b for one in sections() for b in one.blocks(run) if isinstance(b, Figure)]
    assert {figure.kind for figure in figures} == {
        *("recipes", "answers", "budget", "centrality", "precision-recall", "cost"),
        *("reliability", "boundary", "retrieval"),
    }
    for kind in {figure.kind for figure in figures}:
        assert sum(figure.leading for figure in figures if figure.kind == kind) == 1, kind
    names = [figure.name for figure in figures]
    assert len(names) == len(set(names))


def test_each_budget_is_a_line_of_its_own() -> None:
    table = tables(run_of(), "answers")[0]
    lines = [row[:3] for row in table.rows]
    assert ("SimulRAG", "100 %", "5") in lines
    assert ("SimulRAG", "25 %", "5") in lines
    assert ("Input-layer RAG", "—", "1") in lines
    first = table.rows[0]
    assert first[4] == "1.000 [0.950, 1.000]"
    assert first[-1] == "87.5 %"
    assert "like with like" in answers.LIKE_WITH_LIKE


def test_methods_and_lines_without_kappa_stay_apart() -> None:
    run = run_of(DomainTable.from_rows("urban", reconciled_rows()))
    table = tables(run, "answers")[0]
    assert table.columns[:4] == ("Method", "Budget", "Kappa", "m")
    lines = [row[:4] for row in table.rows]
    assert len(lines) == len(set(lines))
    assert ("SimulRAG", "25 %", "0.400", "5") in lines
    assert ("SimulRAG", "25 %", "none", "5") in lines
    assert ("SimulRAG reconciled", "25 %", "0.400", "5") in lines
    assert ("Input-layer RAG", "—", "—", "1") in lines
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert (first["Words"][:4], first["Contradictions"][:3]) == ("93.0", "1.5")
    gains = [table for table in tables(run, "answers") if table.name.startswith("gains")]
    assert [table.name for table in gains] == ["gains", "gains-reconciled"]


def test_a_run_with_one_kappa_and_no_grouping_has_no_column_for_them() -> None:
    table = tables(run_of(), "answers")[0]
    assert {"Kappa", "Contradictions", "Answers with any"} & set(table.columns) == set()


def test_provenance_is_what_the_recording_says() -> None:
    said = [
        "45 questions, asked of the live simulators and answered in November 2026.",
        "Who answered. A Claude model (model: claude).",
        "Tokens were not counted.",
        "The judge and the answerer are one model family.",
    ]
    assert overview.provenance(RECORDED) == said
    assert overview.provenance("") == []
    shown = [b.text for b in overview.blocks(run_of()) if isinstance(b, Text) and b.title]
    assert shown == said
    called = run_of(summary=RunSummary(models={"answer": "openai: gpt-5-mini"}))
    assert not [b for b in overview.blocks(called) if isinstance(b, Text) and b.title]


def test_looked_up_evidence_cannot_be_missed() -> None:
    run = run_of(DomainTable.from_rows("urban", looked_up("urban")))
    first = next(iter(overview.blocks(run)))
    assert isinstance(first, Text)
    assert first.role == "warning"
    assert first.text.startswith("For 7 of 8 questions the evidence was looked up")


def test_tokens_that_were_not_counted_are_a_dash_beside_an_estimate() -> None:
    for table in tables(run_of(), "cost"):
        at = table.columns.index("Input tokens")
        assert table.columns[at + 1] == "Input tokens, estimated"
        row = next(row for row in table.rows if row[0] != "simulator")
        assert row[at] == "—"
        assert row[at + 1].startswith("900")
        unknown = [note for note in table.notes if note.endswith(f": {NOT_COUNTED}.")]
        assert [note.startswith("Input tokens") for note in unknown] == [True]
        assert any(note.startswith("Estimated: ") for note in table.notes)
    steps = next(table for table in tables(run_of(), "cost") if table.name == "cost")
    simulator = next(row for row in steps.rows if row[0] == "simulator")
    assert dict(zip(steps.columns, simulator, strict=True))["Simulator runs"] == "1.2"


def test_an_undefined_value_is_a_dash_with_its_reason() -> None:
    reason = "undefined: all claims have one label"
    lost = [
        replace(row, value=None, lower_95=None, upper_95=None, reason=reason)
        if row.family in ("claims", "answers", "calibration", "boundary")
        else row
        for row in rows()
    ]
    run = run_of(DomainTable.from_rows("urban", lost))
    assert any(note.endswith(f": {reason}.") for note in tables(run, "overview")[0].notes)
    table = tables(run, "claims")[0]
    assert set(table.rows[0][2:5]) == {"—"}
    assert f"UE+SBA (15, 25, 45 %), all-RAG (100 %): {reason}." in table.notes[0]
    figures = [b for one in sections() for b in one.blocks(run) if isinstance(b, Figure)]
    drawn = [figure.svg for figure in figures if figure.kind == "budget"]
    assert all("undefined at every budget" in svg for svg in drawn)
    assert not any("nan" in figure.svg.lower() for figure in figures)


def test_people_who_disagree_are_listed() -> None:
    one = LabelledByPeople("q1", "A claim.", "true", "agreed", "false", "ada: true, bo: true")
    same = LabelledByPeople("q2", "Another.", "true", "one annotator", "true", "ada: true")
    run = replace(run_of(), people={"urban": (one, same)})
    (table,) = people.blocks(run)
    assert isinstance(table, Table)
    assert table.caption == "urban: 1 of 2 labelled claims with a disagreement"
    assert table.rows[0][:5] == ("q1", "A claim.", "true", "all say so", "false")


def test_published_numbers_stand_beside_ours() -> None:
    paper = {1: read_published(PUBLISHED)}
    first, second, table = published.blocks(replace(run_of(), published=paper))
    assert isinstance(table, Table)
    assert isinstance(first, Text)
    assert isinstance(second, Text)
    assert first.text == f"Urban: {table.notes[0]}"
    assert "23 of 72 F1 cells" in second.text
    assert table.columns[2] == "This run"
    assert any("0.783" in row for row in table.rows)  # urban, AUROC, UE+SBA, Claude 3.5, 45 %
    assert "questions and simulator runs are others than the published ones" in table.notes[0]
    ocean = DomainTable.from_rows("ocean", rows("ocean"))
    assert not list(published.blocks(replace(run_of(ocean), published=paper)))


def test_what_may_be_compared_follows_the_evidence() -> None:
    def of(replayed: float) -> DomainTable:
        changed = (
            replace(row, value=replayed) if row.metric == "replayed" else row for row in rows()
        )
        return DomainTable.from_rows("urban-published", changed)

    assert published.comparable(of(7)).startswith("All 7 completed questions are published ones")
    assert published.comparable(of(3)).startswith("3 of 7 completed questions are published ones")
    assert published.comparable(of(0)).startswith("This run's questions")


def test_documents_are_credited() -> None:
    """A document with its licence, over passages of several calls and questions."""

    def passage(document: str, licence: str | None = "CC BY 4.0") -> JsonValue:
        return {"document": document, "attribution": "A. Author", "licence": licence, "text": "..."}

    def answer(id: str, *passages: JsonValue) -> Answer:
        call = ToolCall(tool="query_rag", arguments={})
        found = Evidence(
            simulator="library", call=call, seed=0, outputs={"passages": list(passages)}, text=""
        )
        run = found.model_copy(update={"call": ToolCall(tool="run", arguments={})})
        retrieval = Retrieval(status="retrieved", evidence=(found, run))
        return Answer(question_id=id, domain="urban", retrieval=retrieval)

    found = credited(
        [answer("1", passage("b"), passage("a"), passage("b")), answer("2", passage("b"), "text")]
    )
    (table,) = tables(replace(run_of(), credits={"urban": found}), "documents")
    assert table.rows == (
        ("a", "A. Author", "CC BY 4.0", "1", "1"),
        ("b", "A. Author", "CC BY 4.0", "3", "2"),
    )
    ((unnamed, _),) = credited([answer("3", passage("c", None))]).items()
    assert unnamed == ("c", "A. Author", "—")
