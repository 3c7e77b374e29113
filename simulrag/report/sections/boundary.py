"""Simulator boundary assessment: what it filters, and what that loses."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.names import BOUNDARY_SHARES
from simulrag.report.blocks import Block, Figure, Section, Table, count, interval, percent, why
from simulrag.report.chart import BLUE, OCHRE, RED, Point, dots
from simulrag.report.run import DomainTable, Run

_LOOKS = dict(zip(BOUNDARY_SHARES, (BLUE, RED, OCHRE), strict=True))


def blocks(run: Run) -> Iterator[Block]:
    """A figure and a table a domain."""
    measured = [domain for domain in run.domains if domain.rows("boundary")]
    for domain in measured:
        yield _figure(domain)
    for domain in measured:
        yield _table(domain)


def _figure(domain: DomainTable) -> Figure:
    rows = []
    values = []
    for row in domain.rows("boundary"):
        name = BOUNDARY_SHARES[row.metric]
        shown = "undefined" if row.value is None else percent(row.value)
        said = f"{name[:1].upper()}{name[1:]}: {interval(row)}, of {count(row.n)} claims"
        point = (
            Point(row.value, 0, said, row.lower_95, row.upper_95) if row.value is not None else None
        )
        rows.append((f"{name}: {shown}", point, _LOOKS[row.metric]))
        values.append(f"{name} {shown}")
    return Figure(
        name=f"{domain.name}-boundary",
        kind="boundary",
        caption=f"{domain.title}: what boundary assessment filters, and what verification makes "
        "of either side. Bars: 95 % intervals.",
        text=f"Simulator boundary, {domain.name}, shares: {'; '.join(values)}.",
        svg=dots(rows, "share of claims", 1.0),
        domain=domain.name,
    )


def _table(domain: DomainTable) -> Table:
    found = domain.rows("boundary")
    return Table(
        name="boundary",
        caption=f"{domain.name}: simulator boundary assessment",
        columns=("Share of", "Value", "Claims"),
        rows=tuple((BOUNDARY_SHARES[row.metric], interval(row), count(row.n)) for row in found),
        headers=1,
        notes=tuple(why(found, lambda row: BOUNDARY_SHARES[row.metric])),
        domain=domain.name,
        fold="Boundary assessment as tables",
    )


SECTION = Section("boundary", "Simulator boundary", blocks)
