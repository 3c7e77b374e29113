"""What the sections say of a long table."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from simulrag import registry
from simulrag.records import Answer, Retrieval
from simulrag.report.blocks import Figure, Table
from simulrag.report.run import DomainTable, ReportedRun
from simulrag.report.sections import sections
from simulrag.report.sections.documents import credited
from tests.making import answer, evidence
from tests.unit.report.made import rows, run_of


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


def test_a_run_with_one_kappa_and_no_grouping_has_no_column_for_them() -> None:
    table = tables(run_of(), "answers")[0]
    assert {"Kappa", "Contradictions", "Answers with any"} & set(table.columns) == set()


def test_an_undefined_value_is_a_dash_with_its_reason() -> None:
    reason = "undefined: all claims have one label"
    lost = [
        replace(row, value=None, lower_95=None, upper_95=None, reason=reason)
        if row.family in ("claims", "answers", "calibration", "boundary")
        else row
        for row in rows()
    ]
    run = run_of(DomainTable.from_rows("urban", lost))
    table = tables(run, "claims")[0]
    assert set(table.rows[0][2:5]) == {"—"}
    assert f"UE+SBA (15, 25, 45 %), all-RAG (100 %): {reason}." in table.notes[0]
    figures = [b for one in sections() for b in one.blocks(run) if isinstance(b, Figure)]
    drawn = [figure.svg for figure in figures if figure.kind == "budget"]
    assert all("undefined at every budget" in svg for svg in drawn)
    assert not any("nan" in figure.svg.lower() for figure in figures)


def test_documents_are_credited() -> None:
    """A document with its licence, over passages of several calls and questions."""

    def passage(document: str, licence: str | None = "CC BY 4.0") -> JsonValue:
        return {"document": document, "attribution": "A. Author", "licence": licence, "text": "..."}

    def shown(id: str, *passages: JsonValue) -> Answer:
        outputs: dict[str, JsonValue] = {"passages": list(passages)}
        both = [evidence("", outputs, tool=tool) for tool in ("query_rag", "run")]
        return answer(id, retrieval=Retrieval(status="retrieved", evidence=tuple(both)))

    found = credited(
        [shown("1", passage("b"), passage("a"), passage("b")), shown("2", passage("b"), "text")]
    )
    assert found == {
        ("a", "A. Author", "CC BY 4.0"): (1, 1),
        ("b", "A. Author", "CC BY 4.0"): (3, 2),
    }
    ((unnamed, _),) = credited([shown("3", passage("c", None))]).items()
    assert unnamed == ("c", "A. Author", "—")
