"""The table at the end of a run, as it is printed."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from flows.report.run import DomainTable, ReportedRun
from flows.report.terminal import terminal_table
from simulrag.metrics.table import Measurement
from tests.unit.report.made import kappa_rows, looked_up, rows, run_of

LONG = "a-domain-with-a-very-long-name-that-stands-in-one-piece"
PUBLISHED = ("urban-published", "climate-published", "epidemiology-published")


def domain(name: str, found: Iterable[Measurement] | None = None) -> DomainTable:
    return DomainTable.of(name, rows(name) if found is None else found)


def published() -> list[DomainTable]:
    return [domain(name, looked_up(name)) for name in PUBLISHED]


def printed(run: ReportedRun, *, every: bool = False, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(terminal_table(run, every=every))
    return [line.rstrip() for line in console.export_text().splitlines()]


@pytest.mark.parametrize("every", [False, True])
def test_eighty_columns_are_enough(every: bool) -> None:
    own = domain("urban", kappa_rows())
    # On a wider terminal nothing would be wrapped, so a longer line would show.
    lines = printed(run_of(own, domain(LONG), *published()), every=every, width=200)
    tables = [line for line in lines if "[" in line or " %" in line]
    assert len(tables) > 10
    assert max(map(len, tables)) <= 80
    lines = printed(run_of(own, domain(LONG), *published()), every=every)
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)


def test_a_domains_name_is_not_broken() -> None:
    lines = printed(run_of(domain(LONG), *published()))
    assert LONG in lines
    assert ", ".join(PUBLISHED) in lines


def counted(found: Iterable[Measurement], more: float) -> Iterator[Measurement]:
    """The rows with ``more`` true claims, and 1.8 false ones beside them."""
    for row in found:
        if row.metric == "informativeness":
            yield replace(row, value=more + (row.value or 0))
            yield replace(row, metric="false_claims", value=1.8)
        else:
            yield row


def test_published_domains_stand_together_under_oracle_retrieval() -> None:
    own = domain("urban")
    tables = [
        domain(name, counted(looked_up(name), more))
        for name, more in zip(PUBLISHED, (3.0, 0.0, 0.0), strict=True)
    ]
    lines = printed(run_of(*tables, own))
    assert lines.index("urban") < lines.index("oracle retrieval")
    assert "urban-published" not in lines
    behind = lines[lines.index("oracle retrieval") :]
    (line,) = (line for line in behind if line.startswith(" paper 25 %"))
    # 10.2, 7.2 and 7.2 true claims; 8.2 true by 1.8 false ones.
    assert line.split() == ["paper", "25", "%", "25", "8.2", "0.82", "—", "—", "—"]
    assert any("Oracle retrieval: 24 published questions" in line for line in lines)


def test_published_domains_alone_are_headed_by_what_they_are() -> None:
    lines = printed(run_of(*published()))
    assert [f"{name}, oracle retrieval" in lines for name in PUBLISHED] == [True] * 3
    assert "oracle retrieval" not in lines


def test_a_dash_is_explained() -> None:
    reason = "undefined: no question completed"
    lost = [
        replace(row, value=None, lower_95=None, upper_95=None, reason=reason)
        if row.family == "answers"
        else row
        for row in rows()
    ]
    lines = printed(run_of(domain("urban", lost)))
    assert [line for line in lines if reason in line] == [f"—: {reason}"]
