"""Price and quality of each way to write an answer, as the first section of the report shows it."""

from __future__ import annotations

from dataclasses import replace

from simulrag.report.blocks import Figure, Table, Text
from simulrag.report.run import DomainTable, ReportedRun
from simulrag.report.sections import overview, recipes
from tests.unit.report.made import looked_up, reconciled_rows, rows, run_of


def both() -> ReportedRun:
    """A domain of one's own, and two whose evidence was looked up."""
    own = DomainTable.from_rows("urban", reconciled_rows())
    names = ("urban-published", "climate-published")
    return run_of(*(DomainTable.from_rows(name, looked_up(name)) for name in names), own)


def tables(run: ReportedRun) -> dict[str, Table]:
    return {one.name: one for one in recipes.blocks(run) if isinstance(one, Table)}


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
    table = tables(run_of(DomainTable.from_rows("urban", known)))["recipes"]
    assert column(table, "Tokens")["paper 100 %"] == "0.9 + 0.2"
    assert not any(note.startswith("~") for note in table.notes)


def test_one_published_domain_is_not_pooled_and_alone_it_leads() -> None:
    published = DomainTable.from_rows("urban-published", looked_up("urban-published"))
    assert "recipes-published-pooled" not in tables(run_of(published, *run_of().domains))
    assert {row[0] for row in tables(run_of(published))["recipes"].rows} == {"urban-published"}


def test_that_evidence_was_looked_up_leads_where_it_holds_for_all() -> None:
    def place(run: ReportedRun) -> tuple[int, int]:
        blocks = list(overview.blocks(run))
        warned = [isinstance(one, Text) and one.role == "warning" for one in blocks]
        return warned.index(True), [isinstance(one, Table) for one in blocks].index(True)

    warning, table = place(run_of(DomainTable.from_rows("urban", looked_up("urban"))))
    assert warning < table
    warning, table = place(both())
    assert table < warning


def test_the_completed_line_speaks_where_there_is_one() -> None:
    found = reconciled_rows()
    completed = [
        replace(row, method="SimulRAG reconciled, completed", value=2.0)
        for row in found
        if row.family == "standings" and row.budget_percent == 100
    ]
    marks = tables(run_of(DomainTable.from_rows("urban", [*found, *completed])))["standings"]
    assert [row[2] for row in marks.rows] == ["2", "2", "2"]


def test_a_run_that_drops_no_claim_is_drawn_and_listed_too() -> None:
    """Kappa is 0 where it is given so, and where no question is in the development part."""
    found = [replace(row, kappa=0.0) if row.method == "SimulRAG" else row for row in rows()]
    run = run_of(DomainTable.from_rows("urban", found))
    (figure,) = (one for one in recipes.blocks(run) if isinstance(one, Figure))
    assert "paper 25 %" in figure.text
    assert any(name.startswith("paper 25 %") for name in column(tables(run)["recipes"], "Recipe"))
