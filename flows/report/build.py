"""Tables and rows of dots, built from rows of the long table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Required, TypedDict, Unpack

from flows.report.blocks import DASH, Figure, Table, count, interval, percent, why
from flows.report.chart import Look, Point, dots
from simulrag.metrics.table import Measurement

Columns = Mapping[str, Callable[[Measurement], str]]
"""Columns by title: what the cell of a row says."""


def listed(found: Sequence[Measurement], columns: Columns, **more: Unpack[TableWords]) -> Table:
    """A line a row; reasons of undefined values become notes."""
    cells = [tuple(cell(row) for cell in columns.values()) for row in found]
    return _table(list(columns), cells, found, found, more)


def pivoted(
    found: Sequence[Measurement],
    heads: Columns,
    metrics: Mapping[str, str],
    tails: Columns | None = None,
    show: Callable[[Measurement], str] | None = None,
    **more: Unpack[TableWords],
) -> Table:
    """A line for rows with equal ``heads``, a column a metric; ``tails`` are of its first row."""
    lines: dict[tuple[str, ...], dict[str, Measurement]] = {}
    for row in found:
        head = tuple(cell(row) for cell in heads.values())
        lines.setdefault(head, {}).setdefault(row.metric, row)
    firsts = [next(iter(by_metric.values())) for by_metric in lines.values()]
    cells = [
        (
            *head,
            *((show or interval)(line[m]) if m in line else DASH for m in metrics),
            *(cell(first) for cell in (tails or {}).values()),
        )
        for (head, line), first in zip(lines.items(), firsts, strict=True)
    ]
    shown = [row for row in found if row.metric in metrics]
    return _table([*heads, *metrics.values(), *(tails or {})], cells, firsts, shown, more)


def paired(found: Sequence[Measurement], heads: Columns, **more: Unpack[TableWords]) -> Table:
    """Differences to baselines, each with its gain in percent of the baseline, p and Holm's p."""

    def pair(row: Measurement) -> tuple[object, ...]:
        line = (row.method, row.budget_percent, row.samples, row.kappa)
        return (*line, row.baseline, row.baseline_samples, row.metric)

    gains = {pair(row): row for row in found if row.unit == "percent"}
    columns: Columns = {
        **heads,
        "Difference": lambda row: interval(row, signed=True),
        "Gain, %": lambda row: interval(gains.get(pair(row)), signed=True, places=1),
        "p": lambda row: DASH if row.p is None else f"{row.p:.3f}",
        "p, Holm": lambda row: DASH if row.p_holm is None else f"{row.p_holm:.3f}",
    }
    return listed([row for row in found if row.unit == "difference"], columns, **more)


class TableWords(TypedDict, total=False):
    """What ``Table`` is given beside its cells. ``strong``: methods whose lines are set off.

    ``line``: how a reason names its row; else by method.
    """

    name: Required[str]
    caption: Required[str]
    domain: Required[str]
    headers: int
    strong: tuple[str, ...]
    notes: tuple[str, ...]
    line: Callable[[Measurement], str]
    fold: str


def _table(
    columns: Sequence[str],
    cells: Sequence[tuple[str, ...]],
    lines: Sequence[Measurement],
    reasons: Sequence[Measurement],
    given: TableWords,
) -> Table:
    strong = given.get("strong", ())
    return Table(
        name=given["name"],
        caption=f"{given['domain']}: {given['caption']}",
        columns=tuple(columns),
        rows=tuple(cells),
        headers=given.get("headers", 2),
        strong=tuple(i for i, row in enumerate(lines) if row.method in strong),
        notes=(*given.get("notes", ()), *why(reasons, given.get("line"))),
        domain=given["domain"],
        fold=given.get("fold", ""),
    )


def dot_figure(
    domain: str,
    kind: str,
    rows: Sequence[tuple[str, Measurement, Look]],
    axis: str,
    *,
    caption: str,
    of: str = "claims",
    highest: float | None = 1.0,
    shares: bool = False,
    name: str = "",
    choice: tuple[str, str] | None = None,
    leading: bool = True,
) -> Figure:
    """A dot with its interval a row, under the row's name; ``shares``: and its value in percent."""
    drawn = []
    for title, row, look in rows:
        said = f"{title}: {interval(row)}, {count(row.n)} {of}"
        ends = (row.lower_95, row.upper_95)
        point = None if row.value is None else Point(row.value, 0, said, *ends)
        drawn.append((f"{title}: {percent(row.value)}" if shares else title, point, look))
    values = "; ".join(f"{title} {interval(row)}" for title, row, _ in rows)
    return Figure(
        name=f"{domain}-{name or kind}",
        kind=kind,
        caption=f"{domain[:1].upper()}{domain[1:]}: {caption}. Bars: 95 % intervals.",
        text=f"{axis[:1].upper()}{axis[1:]}, {domain}: {values}.",
        svg=dots(drawn, axis, highest),
        domain=domain,
        choice=choice,
        leading=leading,
    )
