"""The refreshes so far: the few numbers that a domain is watched by, period by period."""

from __future__ import annotations

from collections.abc import Iterator

from flows.report.blocks import Block, Figure, ReportSection
from flows.report.chart import BLUE, GREY, OCHRE, RED, Axis, Point, Series, lines
from flows.report.run import ReportedRun

_LOOKS = {"factuality": RED, "coverage": GREY, "f1": BLUE, "auroc": OCHRE}
_TICKS = 5


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Draw a line a metric, where there are two periods or more."""
    for domain in run.domains:
        rows = [row for row in run.history if row["domain"] == domain.name]
        if len(rows) < 2:
            continue
        series = []
        for metric, look in _LOOKS.items():
            points = [
                Point(at, float(row[metric]), f"{row['period']}: {row[metric]}, {row['status']}")
                for at, row in enumerate(rows)
                if row[metric]
            ]
            series.append(Series(metric, points, look))
        last, step = len(rows) - 1, -(-len(rows) // _TICKS)
        ticks = [(at, rows[at]["period"]) for at in range(last % step, last + 1, step)]
        yield Figure(
            name=f"history-{domain.name}",
            kind="history",
            caption=f"{domain.name}: each period's own questions, so that lines move by chance too",
            text=f"The metrics of {domain.name} over {len(rows)} periods",
            svg=lines(series, Axis("", ticks, slanted=True), Axis("share", ends=(0, 1)), ""),
            domain=domain.name,
        )


SECTION = ReportSection("history", "The refreshes so far", blocks)
