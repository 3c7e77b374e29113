"""Simulator boundary assessment: what it filters, and what that loses."""

from __future__ import annotations

from collections.abc import Iterator

from flows.report.blocks import Block, Figure, ReportSection, Table, count, interval
from flows.report.build import dot_figure, listed
from flows.report.chart import BLUE, OCHRE, RED
from flows.report.run import DomainTable, ReportedRun
from simulrag.metrics.table import Measurement

_SHARES = {
    "filtered": "claims judged outside the simulator's reach",
    "kept_decided": "claims inside that verification decided",
    "filtered_decidable": "claims outside that verification could decide",
}
_LOOKS = dict(zip(_SHARES, (BLUE, RED, OCHRE), strict=True))


def blocks(run: ReportedRun) -> Iterator[Block]:
    """A figure and a table a domain."""
    measured = [domain for domain in run.domains if domain.rows("boundary")]
    for domain in measured:
        yield _figure(domain)
    for domain in measured:
        yield _table(domain)


def _figure(domain: DomainTable) -> Figure:
    found = domain.rows("boundary")
    return dot_figure(
        domain.name,
        "boundary",
        [(_name(row), row, _LOOKS[row.metric]) for row in found],
        "share of claims",
        caption="what boundary assessment filters, and what verification makes of either side",
        shares=True,
    )


def _table(domain: DomainTable) -> Table:
    return listed(
        domain.rows("boundary"),
        {"Share of": _name, "Value": interval, "Claims": lambda row: count(row.n)},
        name="boundary",
        caption="simulator boundary assessment",
        domain=domain.name,
        headers=1,
        line=_name,
        fold="Boundary assessment as tables",
    )


def _name(row: Measurement) -> str:
    return _SHARES[row.metric]


SECTION = ReportSection("boundary", "Simulator boundary", blocks)
