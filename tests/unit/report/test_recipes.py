"""Price and quality of each way to write an answer, as the first section of the report shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulrag.metrics.table import Measurement
from simulrag.report.blocks import DASH, Block, Figure, Table, Text
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


def words(block: Block) -> str:
    if isinstance(block, Table):
        cells = [cell for row in (block.columns, *block.rows) for cell in row]
        return "\n".join([block.caption, block.fold, *block.notes, *cells])
    if isinstance(block, Figure):
        return f"{block.caption}\n{block.text}"
    return block.text if isinstance(block, Text) else str(block.rows)


def test_price_and_quality_stand_in_one_row() -> None:
    table = tables(run_of())["recipes"]
    names = ["closed book", "input RAG", "output RAG", "paper 25 %", "paper 100 %"]
    assert list(column(table, "Recipe")) == names
    assert column(table, "Calls")["paper 25 %"] == "25"
    assert column(table, "In turn")["paper 25 %"] == "4"
    assert column(table, "True claims")["paper 25 %"] == "7.2 [7.2, 7.2]"
    assert column(table, "Share true")["paper 25 %"] == "0.90 [0.85, 0.90]"
    assert column(table, "Asked")["paper 25 %"] == DASH  # nobody knows what was asked
    assert [table.rows[at][1] for at in table.strong] == ["paper 25 %", "paper 100 %"]


def test_tokens_are_told_from_estimates() -> None:
    table = tables(run_of())["recipes"]
    assert column(table, "Tokens")["paper 100 %"] == "~0.9 + 0.2"
    assert any(note.startswith("~: tokens estimated") for note in table.notes)
    known = [
        replace(row, metric=row.metric.removesuffix("_estimated"), reason="")
        for row in rows()
        if row.value is not None
    ]
    table = tables(run_of(DomainTable.from_rows("urban", known)))["recipes"]
    assert column(table, "Tokens")["paper 100 %"] == "0.9 + 0.2"
    assert not any(note.startswith("~") for note in table.notes)


def test_every_other_way_is_folded() -> None:
    found = tables(run_of(DomainTable.from_rows("urban", reconciled_rows())))
    few, every = found["recipes"], found["recipes-all"]
    assert (few.fold, every.fold) == ("", "Every way to write an answer")
    assert "paper 25 %, no kappa" not in column(few, "Recipe")
    more = {"closed book, m = 5", "paper 25 %, m = 1", "paper 25 %, no kappa"}
    assert column(every, "Recipe").keys() >= more | column(few, "Recipe").keys()


def test_published_questions_stand_folded_behind_ones_own() -> None:
    found = tables(both())
    assert {row[0] for row in found["recipes"].rows} == {"urban"}
    published = found["recipes-published"]
    assert {row[0] for row in published.rows} == {"urban-published", "climate-published"}
    together = found["recipes-published-pooled"]
    assert published.fold == together.fold == "Published questions: oracle retrieval"
    assert column(together, "True claims")["paper 25 %"] == "7.2"
    assert column(together, "Questions")["paper 25 %"] == "14"


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


def test_marks_say_what_a_reader_can_rely_on() -> None:
    marks = tables(both())["standings"]
    assert marks.rows == (
        ("urban", "checked", "20", "0", "1", "0", "1.00"),
        ("urban", "corrected", "11", "1", "0", "2", "0.92"),
        ("urban", "outside", "0", "0", "30", "5", DASH),
    )
    assert [marks.rows[at][1] for at in marks.strong] == ["checked", "corrected"]
    assert "standings" not in tables(run_of())


def test_the_completed_line_speaks_where_there_is_one() -> None:
    found = reconciled_rows()
    completed = [
        replace(row, method="SimulRAG reconciled, completed", value=2.0)
        for row in found
        if row.family == "standings" and row.budget_percent == 100
    ]
    marks = tables(run_of(DomainTable.from_rows("urban", [*found, *completed])))["standings"]
    assert [row[2] for row in marks.rows] == ["2", "2", "2"]


def with_evidence(questions: float) -> list[Measurement]:
    return [
        replace(row, value=questions) if row.metric == "with_evidence" else row for row in rows()
    ]


@pytest.mark.parametrize(("there", "said"), [(7.0, False), (5.0, True)])
def test_answers_without_evidence_are_said(there: float, said: bool) -> None:
    domain = DomainTable.from_rows("urban", with_evidence(there))
    told = "for 2 of 7 answers no evidence was there to verify with" if said else ""
    assert recipes.evidence_words(domain) == told
    notes = tables(run_of(domain))["recipes"].notes
    assert (f"Urban: {told}." in notes) == said


def test_the_figure_says_each_recipe_in_words() -> None:
    (figure,) = (one for one in recipes.blocks(run_of()) if isinstance(one, Figure))
    assert (
        "paper 25 %: 25.0 calls a question, 90.0 % of its claims true, 7.2 [7.2, 7.2] true claims"
    ) in figure.text
    without = [row for row in rows() if row.metric != "calls"]
    (figure,) = (
        one
        for one in recipes.blocks(run_of(DomainTable.from_rows("urban", without)))
        if isinstance(one, Figure)
    )
    assert figure.text.endswith("Undefined.")


def test_a_run_that_drops_no_claim_is_drawn_and_listed_too() -> None:
    """Kappa is 0 where it is given so, and where no question is in the development part."""
    found = [replace(row, kappa=0.0) if row.method == "SimulRAG" else row for row in rows()]
    run = run_of(DomainTable.from_rows("urban", found))
    (figure,) = (one for one in recipes.blocks(run) if isinstance(one, Figure))
    assert "paper 25 %" in figure.text
    assert any(name.startswith("paper 25 %") for name in column(tables(run)["recipes"], "Recipe"))


def test_the_overview_speaks_of_claims_and_not_of_subjects() -> None:
    """A budget is a share of claims, whatever a method groups them by."""
    said = "\n".join(words(block) for block in overview.blocks(both()))
    assert "reconciled 100 %" in said
    assert "subjects verified" not in said
