"""The words of the report and of the table at the end of a run, of one made run in full.

``golden.md`` and ``golden.txt`` hold what is shown. After a change that is meant write them anew
with ``python -m tests.unit.report.test_golden`` and read the difference.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from flows.report.blocks import Block, Facts, Figure, Table, Text
from flows.report.page import markdown
from flows.report.run import DomainTable, LabelledByPeople, ReportedRun
from flows.report.sections import sections
from flows.report.sections.benchmark import read_published
from flows.report.terminal import terminal_table
from simulrag.metrics.table import Measurement
from tests.unit.report.made import SETTINGS, SUMMARY, grounded_rows, kappa_rows, looked_up

PUBLISHED = Path(__file__).resolve().parents[3] / "data" / "published"
PAGE, TERMINAL = (Path(__file__).with_name(f"golden.{suffix}") for suffix in ("md", "txt"))


def partly(domain: str) -> list[Measurement]:
    """A grounded run: of seven answers three from published evidence, two without any."""
    counts = {"replayed": 3.0, "with_evidence": 5.0, "checked": 5.0}
    return [replace(row, value=counts.get(row.metric, row.value)) for row in grounded_rows(domain)]


def run() -> ReportedRun:
    """A domain of one's own with every family, one partly and two wholly looked up."""
    made = {
        "urban": kappa_rows(),
        "climate": partly("climate"),
        "urban-published": looked_up("urban-published"),
        "climate-published": looked_up("climate-published"),
    }
    people = (
        LabelledByPeople("q1", "A claim.", "true", "agreed", "false", "ada: true, bo: true"),
        LabelledByPeople("q2", "Another.", "true", "one annotator", "true", "ada: true"),
        LabelledByPeople("q3", "A third.", "undecided", "disputed", "", "ada: true, bo: false"),
    )
    return ReportedRun(
        SETTINGS,
        tuple(DomainTable.of(name, found) for name, found in made.items()),
        SUMMARY,
        published=read_published(PUBLISHED),
        people={"urban": people},
        credits={"urban": {("a", "A. Author", "CC BY 4.0"): (3, 2)}},
    )


def told(block: Block) -> str:
    """A block in words."""
    if isinstance(block, Table):
        folded = f"(folded: {block.fold})\n" if block.fold else ""
        return folded + markdown(block)
    if isinstance(block, Figure):
        chosen = f" ({': '.join(block.choice)})" if block.choice else ""
        return f"figure {block.name}{chosen}: {block.caption}\n{block.text}"
    if isinstance(block, Facts):
        return "\n".join(f"{name}: {value}" for name, value in block.rows)
    return f"[{block.role}] {block.title and f'{block.title}: '}{block.text}"


def page() -> Iterator[str]:
    """The page in words; tables and figures of other domains repeat those of the first, but one."""
    for section in sections():
        shown = [
            told(block)
            for block in section.blocks(run())
            if isinstance(block, Text)
            or getattr(block, "domain", "") in ("", "urban")
            or getattr(block, "name", "") == "gains-grounded"
        ]
        if shown:
            yield "\n\n".join([f"# {section.title}", *shown])


def printed() -> str:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(terminal_table(run()))
    console.print(terminal_table(run(), every=True))
    return "".join(f"{line.rstrip()}\n" for line in console.export_text().splitlines())


def test_the_page_says_this() -> None:
    assert "\n\n".join(page()) + "\n" == PAGE.read_text(encoding="utf-8")


def test_the_terminal_says_this() -> None:
    assert printed() == TERMINAL.read_text(encoding="utf-8")


if __name__ == "__main__":
    PAGE.write_text("\n\n".join(page()) + "\n", encoding="utf-8")
    TERMINAL.write_text(printed(), encoding="utf-8")
