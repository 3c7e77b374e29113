"""How well confidence and the simulator boundary foresee what is true."""

from __future__ import annotations

from collections.abc import Iterator

from flows.report.blocks import (
    Block,
    Columns,
    Figure,
    ReportSection,
    Table,
    budget,
    count,
    dot_figure,
    interval,
    listed,
)
from flows.report.chart import BLUE, ENDS, GREY, OCHRE, RED, Axis, Look, Point, Series, lines
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.methods import ALL_RAG, NO_RAG, UE_SBA, VERBALIZED
from simulrag.metrics.table import Measurement

_EMPTY = "undefined: the notes of the\ncalibration table say why"


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show a reliability figure and calibration errors a domain."""
    measured = [domain for domain in run.domains if domain.rows("calibration")]
    for domain in measured:
        yield _reliability(run, domain)
    for domain in measured:
        yield _errors(run, domain)


def _reliability(run: ReportedRun, domain: DomainTable) -> Figure:
    """Share of true claims against mean confidence by bin, a line a checked set."""
    middle = run.settings.headline_budget
    curves: dict[tuple[str, int], tuple[str, Look]] = {
        (NO_RAG, 0): ("before", BLUE),
        (VERBALIZED, 0): ("stated by the model", OCHRE),
        (UE_SBA, middle): (f"{method_name(UE_SBA)}, {middle} %", RED),
        (ALL_RAG, 100): ("all verified", GREY),
    }
    series = []
    for (method, share), (name, look) in curves.items():
        rows = domain.rows(
            "calibration",
            metric="reliability",
            method=method,
            budget_percent=share,
            undecided=run.settings.undecided,
        )
        points = [
            Point(
                x,
                row.value,
                f"{name}: {interval(row)} true at confidence {x:.2f}, {count(row.n)} claims",
                row.lower_95,
                row.upper_95,
            )
            for row in sorted(rows, key=lambda row: row.number("bin") or 0)
            if row.value is not None and (x := row.number("x")) is not None
        ]
        series.append(Series(name, points, look))
    said = "; ".join(point.said for one in series for point in one.points)
    if said:
        series.append(Series("", (), ENDS, [(0, 0), (1, 1)], named=True))
    ends = Axis("confidence", ends=(-0.03, 1.03))
    return Figure(
        name=f"{domain.name}-reliability",
        kind="reliability",
        caption=f"{domain.title}: share of true claims against confidence, in ten bins. Bars: "
        "95 % intervals. Dotted: a confidence that means what it says.",
        text=f"Share of true claims against confidence, {domain.name}. {said or 'Undefined'}.",
        svg=lines(series, ends, Axis("true claims", ends=(-0.03, 1.03)), _EMPTY),
        domain=domain.name,
    )


_LINE: Columns = {
    "Method": lambda row: method_name(row.method),
    "Verified": budget,
    "Confidence": lambda row: row.centrality,
}


def _errors(run: ReportedRun, domain: DomainTable) -> Table:
    return listed(
        domain.rows("calibration", "ece", undecided=run.settings.undecided),
        {**_LINE, "Error": interval, "Claims": lambda row: count(row.n)},
        name="calibration",
        caption="expected calibration error, before and after verification",
        domain=domain.name,
        headers=3,
        strong=(UE_SBA,),
        notes=(
            "The mean distance between a claim's confidence and the share of true claims in its "
            "bin, of ten. Chance keeps it above 0, more so with few claims.",
        ),
        fold="Calibration error",
    )


SECTION = ReportSection("calibration", "Calibration", blocks)


_SHARES = {
    "filtered": "claims judged outside the simulator's reach",
    "kept_decided": "claims inside that verification decided",
    "filtered_decidable": "claims outside that verification could decide",
}
_LOOKS = dict(zip(_SHARES, (BLUE, RED, OCHRE), strict=True))


def boundary(run: ReportedRun) -> Iterator[Block]:
    """Show a figure and a table a domain."""
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


BOUNDARY = ReportSection("boundary", "Simulator boundary", boundary)
