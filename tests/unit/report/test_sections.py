"""What the sections make of a long table; their words are in ``test_golden``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import unescape

import pytest
from pydantic import JsonValue

from flows.hooks import PartOfReport, hookimpl, rooms
from flows.report.blocks import Block, Figure, Table, Text, best, interval
from flows.report.run import DomainTable, ReportedRun
from flows.report.sections import history, overview, sections
from flows.report.sections.benchmark import credited
from flows.report.words import spelled
from flows.watch.tracking import little_checked
from simulrag.metrics.table import Measurement
from simulrag.records import Answer, Retrieval
from tests.making import answer, evidence
from tests.unit.report.made import kappa_rows, looked_up, rows, run_of


def tables(run: ReportedRun, key: str) -> list[Table]:
    section = next(one for one in sections() if one.key == key)
    return [block for block in section.blocks(run) if isinstance(block, Table)]


def test_a_section_after_one_that_is_not_there_is_refused() -> None:
    class Room:
        @hookimpl
        def report_part(self) -> PartOfReport:
            own = replace(overview.SECTION, key="own", after="boundery")
            return PartOfReport(own, (), lambda _: None)

    name = rooms().register(Room())
    try:
        with pytest.raises(ValueError, match="own stands after 'boundery'"):
            list(sections())
    finally:
        rooms().unregister(name=name)


@pytest.mark.parametrize(
    ("periods", "domain", "drawn"),
    [(0, "urban", []), (1, "urban", []), (2, "climate", []), (2, "urban", ["0.5", "0.7"])],
)
def test_a_history_of_two_periods_is_drawn(periods: int, domain: str, drawn: list[str]) -> None:
    told = [
        {
            "period": f"2026-11-0{2 + at}T0300Z",
            "domain": domain,
            "status": "completed",
            "coverage": "",
            "f1": "",
            "auroc": "",
            "factuality": f"0.{5 + 2 * at}",
        }
        for at in range(periods)
    ]
    shown = list(history.SECTION.blocks(replace(run_of(), history=told)))
    words = [b.svg for b in shown if isinstance(b, Figure)]
    assert re.findall(r"<title>[^<]*Z: ([^<]*), completed", "".join(words)) == drawn


def test_every_family_is_shown() -> None:
    run = run_of()
    shown = {one.key for one in sections() if list(one.blocks(run))}
    off = {"people", "published", "documents", "history"}
    off |= {part.section.key for part in rooms().hook.report_part()}
    assert shown == {one.key for one in sections()} - off
    figures = [b for one in sections() for b in one.blocks(run) if isinstance(b, Figure)]
    assert {figure.kind for figure in figures} == {
        *("quality", "recipes", "answers", "budget", "centrality", "precision-recall", "cost"),
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
    run = run_of(DomainTable.of("urban", lost))
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


def both() -> ReportedRun:
    """A domain of one's own, and two whose evidence was looked up."""
    own = DomainTable.of("urban", kappa_rows())
    names = ("urban-published", "climate-published")
    return run_of(*(DomainTable.of(name, looked_up(name)) for name in names), own)


def recipe_tables(run: ReportedRun) -> dict[str, Table]:
    return {one.name: one for one in tables(run, "ways")}


def column(table: Table, name: str) -> dict[str, str]:
    """The cells of a column by recipe."""
    at = table.columns.index(name)
    return {row[table.columns.index("Recipe")]: row[at] for row in table.rows}


def test_tokens_that_were_counted_are_no_estimate() -> None:
    known = [
        replace(row, metric=row.metric.removesuffix("_estimated"), reason="")
        for row in rows()
        if row.value is not None
    ]
    table = recipe_tables(run_of(DomainTable.of("urban", known)))["recipes"]
    assert column(table, "Tokens")["paper 100 %"] == "0.9 + 0.2"
    assert not any(note.startswith("~") for note in table.notes)


def test_one_published_domain_is_not_pooled_and_alone_it_leads() -> None:
    published = DomainTable.of("urban-published", looked_up("urban-published"))
    assert "recipes-published-pooled" not in recipe_tables(run_of(published, *run_of().domains))
    assert {row[0] for row in recipe_tables(run_of(published))["recipes"].rows} == {
        "urban-published"
    }


def test_that_evidence_was_looked_up_leads_where_it_holds_for_all() -> None:
    def titles(blocks: Iterable[Block]) -> list[str]:
        return [one.title for one in blocks if isinstance(one, Text) and one.role == "warning"]

    alone = run_of(DomainTable.of("urban", looked_up("urban")))
    oracle = "Oracle retrieval"
    assert oracle in titles(overview.blocks(alone))
    assert oracle not in titles(overview.sources(alone))
    assert oracle not in titles(overview.blocks(both()))
    assert oracle in titles(overview.sources(both()))


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((0.65, 0.77), "0.71 [0.65, 0.77]"),
        ((0.711, 0.715), "0.713 [0.711, 0.715]"),
        ((None, None), "0.713"),
    ],
)
def test_a_wide_interval_has_two_decimals(ends: tuple[float | None, ...], said: str) -> None:
    lower, upper = ends
    assert interval(replace(rows()[0], value=0.713, lower_95=lower, upper_95=upper)) == said


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("m", ["m"]),
        ("3 m of a room", []),
        ("SimulRAG at m = 1", ["m"]),
        ("paper 25 %", ["paper"]),
        ("the paper says", []),
        ("UE+SBA minus all-RAG", ["UE+SBA", "all-RAG"]),
        ("<b> & RAGtime", []),
    ],
)
def test_short_names_are_spelled_out(text: str, short: list[str]) -> None:
    shown = spelled(text)
    assert re.findall(r'<abbr title="[^"]+">([^<]+)</abbr>', shown) == short
    assert unescape(re.sub(r"</?abbr[^>]*>", "", shown)) == text


def test_bold_is_the_best_value_and_what_may_be_as_good() -> None:
    row = rows()[0]

    def measured(value: float | None, low: float | None, high: float | None) -> Measurement:
        return replace(row, value=value, lower_95=low, upper_95=high)

    found = [
        measured(0.9, 0.8, 0.95),
        measured(0.7, 0.6, 0.92),
        measured(0.85, 0.8, 0.89),
        measured(0.8, None, None),
        measured(None, None, None),
        None,
    ]
    assert best(found) == {0, 1}
    assert best([None, measured(None, None, None)]) == set()


@pytest.mark.parametrize(
    ("checked", "with_evidence", "said"),
    [
        (19, 19, ""),
        (18, 20, "2 of 20 answers have evidence that decided none of their claims, so"),
        (
            15,
            15,
            "5 of 20 answers rest on no evidence: no simulator run and no passage was there, so",
        ),
        (15, 18, "2 of 20 answers rest on no evidence"),
    ],
)
def test_what_was_never_checked_is_told(checked: int, with_evidence: int, said: str) -> None:
    told = little_checked(checked, with_evidence, 20, 0.95)
    assert told.startswith(said)
    assert bool(told) == bool(said)
