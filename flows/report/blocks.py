"""What a section is made of: tables, figures, sentences and facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Required, TypedDict, Unpack

from flows.report.chart import Look, Point, dots
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.table import Measurement

DASH = "—"


@dataclass(frozen=True)
class Table:
    """A table as plain cells. The first ``headers`` cells of a row are its row headers.

    ``name``: of its files. ``strong``: indices of rows to set off. ``best``: the cells in bold, by
    the indices of row and column. ``prose``: indices of columns that hold sentences. ``notes``:
    sentences below the table. ``fold``: the title of the details that it lies in; "" stands open.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    headers: int = 2
    strong: tuple[int, ...] = ()
    best: tuple[tuple[int, int], ...] = ()
    prose: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    domain: str = ""
    fold: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure: its file name, what it shows in words, and its SVG (``chart.py``).

    Figures of one ``kind`` and domain are alternatives, told apart by ``choice``: what a reader
    chooses, and the name of this one. ``leading`` is shown first.
    """

    name: str
    kind: str
    caption: str
    text: str
    svg: str
    domain: str
    choice: tuple[str, str] | None = None
    leading: bool = True


@dataclass(frozen=True)
class Text:
    """A sentence or two: a finding, a warning, or a note."""

    text: str
    role: Literal["lead", "finding", "warning", "note"] = "note"
    title: str = ""
    domain: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for, under a ``title`` that unfolds them."""

    title: str
    rows: tuple[tuple[str, str], ...]


Block = Table | Figure | Text | Facts


@dataclass(frozen=True)
class ReportSection:
    """A part of the page: its anchor, its title, and what it shows of a run (nothing: left out).

    ``after``: of a room's section, the anchor of the one that it follows.
    """

    key: str
    title: str
    blocks: Callable[[ReportedRun], Iterable[Block]]
    after: str = ""


COARSE = 0.01
"""An interval that is wider than this is shown with two decimals, else with three."""


def interval(row: Measurement | None, signed: bool = False, places: int | None = None) -> str:
    """Write "0.71 [0.65, 0.77]", the bare value without an interval, a dash without a value."""
    if row is None or row.value is None:
        return DASH
    if places is None:
        wide = None not in (row.lower_95, row.upper_95) and (
            (row.upper_95 or 0) - (row.lower_95 or 0) > COARSE
        )
        places = 2 if wide else 3
    form = f"{'+' if signed else ''}.{places}f"
    # Adding 0.0 turns a rounded negative zero into a plain one.
    shown = [
        f"{round(end, places) + 0.0:{form}}"
        for end in (row.value, row.lower_95, row.upper_95)
        if end is not None
    ]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]" if len(shown) == 3 else shown[0]


def best(found: Sequence[Measurement | None]) -> set[int]:
    """Find the highest value and those that may be it, by index.

    May be: the 95 % interval holds the best value.
    """
    there = {at: row for at, row in enumerate(found) if row is not None and row.value is not None}
    values = [row.value for row in there.values() if row.value is not None]
    if not values:
        return set()
    leader = max(values)
    return {
        at
        for at, row in there.items()
        if row.value == leader
        or (
            None not in (row.lower_95, row.upper_95)
            and (row.lower_95 or 0) <= leader <= (row.upper_95 or 0)
        )
    }


def number(value: float | None, places: int) -> str:
    """Write a value by itself; a dash where it is not known."""
    return DASH if value is None else f"{value:.{places}f}"


def percent(share: float | None) -> str:
    """Write a share (0 to 1) as a percentage."""
    return DASH if share is None else f"{100 * share:.1f} %"


def budget(row: Measurement) -> str:
    """Write the share of claims that a row's method verifies."""
    return DASH if row.budget_percent is None else f"{row.budget_percent:g} %"


def kappas(rows: Iterable[Measurement]) -> dict[str, Callable[[Measurement], str]]:
    """Return the column that tells lines with kappa from those without, if any are without."""
    if not any(row.kappa == 0 for row in rows):
        return {}
    return {
        "Kappa": lambda row: (
            DASH if row.kappa is None else f"{row.kappa:.3f}" if row.kappa else "none"
        )
    }


def count(items: int | None) -> str:
    """Write how many; a dash where that is not known."""
    return DASH if items is None else f"{items:,}"


def why(rows: Iterable[Measurement], name: Callable[[Measurement], str] | None = None) -> list[str]:
    """Write a sentence a reason, after the lines it holds for (``name``: of a row; else method)."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if not row.reason:
            continue
        budgets = found.setdefault(row.reason, {}).setdefault(
            name(row) if name else method_name(row.method), []
        )
        share = "" if row.budget_percent is None or name else f"{row.budget_percent:g}"
        if share and share not in budgets:
            budgets.append(share)
    return [
        ", ".join(
            f"{line} ({', '.join(budgets)} %)" if budgets else line
            for line, budgets in lines.items()
        )
        + f": {reason}."
        for reason, lines in found.items()
    ]


FEW = 20
"""Questions below which a domain's numbers tell large differences only."""


def few_words(domains: Iterable[DomainTable]) -> Iterator[str]:
    """Warn of the domains whose questions are few."""
    few = [one.name for one in domains if one.count("completed") < FEW]
    if few:
        yield (
            f"Fewer than {FEW} questions: {', '.join(few)}. Such numbers move with every question."
        )


Columns = Mapping[str, Callable[[Measurement], str]]
"""Columns by title: what the cell of a row says."""


def listed(found: Sequence[Measurement], columns: Columns, **more: Unpack[TableWords]) -> Table:
    """Build a table with a line a row; reasons of undefined values become notes."""
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
    """Build a line for rows of equal ``heads``, a column a metric; ``tails``: of its first row."""
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
        return (*line, row.baseline, row.number("baseline_samples"), row.metric)

    gains = {pair(row): row for row in found if row.unit == "percent"}
    columns: Columns = {
        **heads,
        "Difference": lambda row: interval(row, signed=True),
        "Gain, %": lambda row: interval(gains.get(pair(row)), signed=True, places=1),
        "p": lambda row: number(row.number("p"), 3),
        "p, Holm": lambda row: number(row.number("p_holm"), 3),
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
    """Draw a dot and its interval a row, below the row's name; ``shares``: and its percentage."""
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
