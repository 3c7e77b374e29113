"""The charts of a domain's claims: what each shows, drawn from the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from simulrag.metrics.claim_level import BUDGETED, OURS
from simulrag.metrics.names import BOUNDARY_SHARES, FIGURE_METRICS
from simulrag.metrics.tables import Tables
from simulrag.report.drawing import BLUE, GREY, OCHRE, RED, Chart, Point, Style, chart
from simulrag.report.findings import interval

STYLES: dict[str, Style] = {
    "Random": GREY,
    "Verbalized": OCHRE,
    "Uncertainty": BLUE,
    "UE+SBA": RED,
}
ENDS = ("no-RAG", "all-RAG")
_EMPTY = "undefined at every budget:\nthe notes below the table say why"
_MARKED_RECALLS = frozenset(range(0, 101, 10))


def budget_figure(tables: Tables, domain: str, metric: str) -> Chart:
    """A metric against the verification budget, a line a method with its 95 % interval.

    Lines are moved a little apart sideways so that intervals do not hide each other.
    """
    settings = tables.settings
    rows = _leading(tables, domain, metric)
    with chart("claims verified", FIGURE_METRICS[metric], _EMPTY) as drawn:
        for place, method in enumerate(BUDGETED):
            of_method = rows.filter(pl.col("method") == method).iter_rows(named=True)
            shift = (place - 1.5) * 0.7
            points = [_point(row, row["budget_percent"] + shift, metric) for row in of_method]
            drawn.line(method, points, STYLES[method])
        for end in ENDS:
            for row in rows.filter(pl.col("method") == end).iter_rows(named=True):
                middle = float(settings.headline_budget)
                drawn.level(end, _point(row, middle, metric))
        drawn.axes.set_xticks(
            settings.budgets_percent, [f"{b} %" for b in settings.budgets_percent]
        )
        drawn.axes.margins(x=0.12)
    return drawn


def cost_figure(tables: Tables, domain: str, metric: str) -> Chart:
    """A metric against the model calls that each method x budget would make alone."""
    calls = tables.method_cost.filter(
        (pl.col("domain") == domain) & (pl.col("level") == "claim") & (pl.col("step") == "all")
    ).select("method", "budget_percent", "calls_per_question")
    rows = _leading(tables, domain, metric).join(calls, on=["method", "budget_percent"])

    def point(row: Mapping[str, Any]) -> Point:
        also = f", {row['calls_per_question']:.1f} calls a question"
        return _point(row, row["calls_per_question"], metric, also)

    with chart("model calls a question", FIGURE_METRICS[metric], _EMPTY) as drawn:
        for method in BUDGETED:
            of_method = rows.filter(pl.col("method") == method).sort("budget_percent")
            drawn.line(method, [point(r) for r in of_method.iter_rows(named=True)], STYLES[method])
        for end in ENDS:
            for row in rows.filter(pl.col("method") == end).iter_rows(named=True):
                drawn.cross(end, point(row))
        drawn.axes.margins(x=0.12)
    return drawn


def centrality_figure(tables: Tables, domain: str, metric: str) -> Chart:
    """UE+SBA by centrality at every budget, with 95 % intervals."""
    settings = tables.settings
    rows = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == metric)
        & (pl.col("method") == OURS)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("value").is_not_null()
    )
    names = list(settings.centralities)
    styles = list(STYLES.values())
    with chart("", FIGURE_METRICS[metric], _EMPTY, below=0.82) as drawn:
        for place, budget in enumerate(settings.budgets_percent):
            shift = (place - (len(settings.budgets_percent) - 1) / 2) * 0.18
            points = [
                _point(row, names.index(row["centrality"]) + shift, metric, _by(row))
                for row in rows.filter(pl.col("budget_percent") == budget).iter_rows(named=True)
            ]
            style = {**styles[-1 - place % len(styles)], "linestyle": ""}
            drawn.line(f"{budget} %", points, style)
        words = [name.replace("_", " ") for name in names]
        drawn.axes.set_xticks(range(len(names)), words, rotation=20, ha="right")
        drawn.axes.margins(x=0.12)
    return drawn


def precision_recall_figure(tables: Tables, domain: str, budget: int) -> Chart:
    """Precision against recall at a budget; dotted: none and all verified."""
    rows = tables.precision_recall.filter(pl.col("domain") == domain)
    with chart("recall", "Precision", _EMPTY) as drawn:
        for method in (*BUDGETED, *ENDS):
            line = [
                Point(row["recall"], row["precision"], _at_recall(row))
                for row in rows.filter(
                    (pl.col("method") == method)
                    & ((pl.col("budget_percent") == budget) | (method in ENDS))
                ).iter_rows(named=True)
            ]
            marked = [point for point in line if round(100 * point.x) in _MARKED_RECALLS]
            if method in BUDGETED:
                drawn.line(method, marked, {**STYLES[method], "marker": ""}, every=line)
            elif line:
                drawn.dotted(line, marked)
                drawn.name(method, line[-1].x, line[-1].y)
        drawn.axes.margins(x=0.12)
    return drawn


def boundary_figure(tables: Tables, domain: str) -> Chart:
    """What boundary assessment filters, and what verification makes of either side."""
    rows = tables.boundary.filter(pl.col("domain") == domain)
    order = list(BOUNDARY_SHARES)
    colors = {name: style["color"] for name, style in zip(order, (BLUE, RED, OCHRE), strict=True)}
    with chart("share of claims", "", "undefined: the notes below\nthe table say why") as drawn:
        drawn.axes.set_xlim(0, 1.03)
        drawn.axes.set_ylim(-len(order) + 0.4, 0.6)
        drawn.axes.set_yticks([])
        if rows["value"].null_count() == rows.height:
            return drawn
        for row in rows.iter_rows(named=True):
            name, y = BOUNDARY_SHARES[row["metric"]], -float(order.index(row["metric"]))
            if row["value"] is None:
                drawn.bar_name(f"{name}: undefined", y)
                continue
            said = f"{name[:1].upper()}{name[1:]}: {interval(row)}, of {row['n']} claims"
            point = Point(row["value"], y, said, row["lower_95"], row["upper_95"])
            drawn.bar(f"{name}: {100 * row['value']:.1f} %", point, colors[row["metric"]])
    return drawn


def figure_text(tables: Tables, domain: str, metric: str) -> str:
    """What the figure shows, in words, for readers who cannot see it."""
    frame = tables.plots.filter(pl.col("domain") == domain)
    parts = []
    for method in BUDGETED:
        rows = frame.filter(pl.col("method") == method)
        values = [
            f"{value:.3f} at {budget} %" if value is not None else f"undefined at {budget} %"
            for budget, value in zip(rows["budget_percent"], rows[metric], strict=True)
        ]
        parts.append(f"{method}: {', '.join(values)}")
    return f"{FIGURE_METRICS[metric]} against verification budget, {domain}. " + "; ".join(parts)


def centrality_text(tables: Tables, domain: str, metric: str) -> str:
    """UE+SBA at the middle budget by centrality, in words."""
    settings = tables.settings
    rows = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == metric)
        & (pl.col("method") == OURS)
        & (pl.col("undecided") == settings.undecided)
        & (pl.col("budget_percent") == settings.headline_budget)
    )
    shown = (
        f"{row['centrality'].replace('_', ' ')} "
        + ("undefined" if row["value"] is None else f"{row['value']:.3f}")
        for row in rows.iter_rows(named=True)
    )
    title = FIGURE_METRICS[metric]
    return f"{title} of {OURS} at {settings.headline_budget} %, {domain}: {', '.join(shown)}."


def boundary_text(tables: Tables, domain: str) -> str:
    """The shares of boundary assessment, in words."""
    rows = tables.boundary.filter(pl.col("domain") == domain).iter_rows(named=True)
    shown = (
        f"{BOUNDARY_SHARES[row['metric']]} "
        + ("undefined" if row["value"] is None else f"{row['value']:.3f}")
        for row in rows
    )
    return f"Simulator boundary, {domain}, shares: {'; '.join(shown)}."


def _leading(tables: Tables, domain: str, metric: str) -> pl.DataFrame:
    settings = tables.settings
    return tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == metric)
        & (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("value").is_not_null()
    )


def _point(row: Mapping[str, Any], x: float, metric: str, also: str = "") -> Point:
    said = (
        f"{row['method']}, {row['budget_percent']} % verified: {FIGURE_METRICS[metric]} "
        f"{interval(row)}, {row['n']} claims{also}"
    )
    return Point(x, row["value"], said, row["lower_95"], row["upper_95"])


def _by(row: Mapping[str, Any]) -> str:
    return f", by {row['centrality'].replace('_', ' ')}"


def _at_recall(row: Mapping[str, Any]) -> str:
    return (
        f"{row['method']}, {row['budget_percent']} % verified: precision {row['precision']:.3f} at "
        f"recall {row['recall']:.2f}, {row['n']} claims kept"
    )
