"""Figures: the same bytes for the same tables, legible on light and on dark ground."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from simulrag.evaluation.claim_level import BUDGETED, OURS
from simulrag.evaluation.names import FIGURE_METRICS
from simulrag.evaluation.tables import Tables

# Mid tones: a contrast of 3 or more on white and on near black. Marker and dash differ as well.
STYLES: dict[str, dict[str, Any]] = {
    "Random": {"color": "#7d868f", "marker": "s", "linestyle": (0, (1, 1.5))},
    "Verbalized": {"color": "#b7791f", "marker": "^", "linestyle": (0, (5, 2))},
    "Uncertainty": {"color": "#3b82c4", "marker": "D", "linestyle": (0, (3, 1.5, 1, 1.5))},
    "UE+SBA": {"color": "#d6455d", "marker": "o", "linestyle": "-"},
}
ENDS = ("no-RAG", "all-RAG")
# Stands for the page's text colour; no other element uses it.
INK = "#010203"
_DARK = "#1b1f24"
_EMPTY = "undefined at every budget:\nthe notes below the table say why"
RC: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 200,
    "figure.dpi": 200,
}


def budget_figure(tables: Tables, domain: str, metric: str) -> Figure:
    """A metric against the verification budget, a line a method with its 95 % interval.

    Lines are moved a little apart sideways so that intervals do not hide each other.
    """
    settings = tables.settings
    rows = _leading(tables, domain, metric)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(4.6, 3.5), layout="constrained")
        axes = figure.add_subplot()
        for place, method in enumerate(BUDGETED):
            of_method = rows.filter(pl.col("method") == method)
            shift = (place - 1.5) * 0.7
            _line(axes, of_method, method, [b + shift for b in of_method["budget_percent"]])
        for end in ENDS:
            _end(axes, rows.filter(pl.col("method") == end), end)
        axes.set_xticks(settings.budgets_percent, [f"{b} %" for b in settings.budgets_percent])
        axes.set_xlabel("claims verified")
        _finish(figure, axes, FIGURE_METRICS[metric])
    return figure


def cost_figure(tables: Tables, domain: str, metric: str) -> Figure:
    """A metric against the model calls that each method x budget would make alone."""
    calls = tables.method_cost.filter(
        (pl.col("domain") == domain) & (pl.col("level") == "claim") & (pl.col("step") == "all")
    ).select("method", "budget_percent", "calls_per_question")
    rows = _leading(tables, domain, metric).join(calls, on=["method", "budget_percent"])
    with mpl.rc_context(RC):
        figure = Figure(figsize=(4.6, 3.5), layout="constrained")
        axes = figure.add_subplot()
        for method in BUDGETED:
            of_method = rows.filter(pl.col("method") == method).sort("budget_percent")
            _line(axes, of_method, method, of_method["calls_per_question"].to_list())
        for end in ENDS:
            for row in rows.filter(pl.col("method") == end).iter_rows(named=True):
                axes.plot(
                    [row["calls_per_question"]],
                    [row["value"]],
                    color=INK,
                    marker="x",
                    markersize=6,
                )
                axes.annotate(
                    end,
                    (row["calls_per_question"], row["value"]),
                    (0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                )
        axes.set_xlabel("model calls a question")
        _finish(figure, axes, FIGURE_METRICS[metric])
    return figure


def centrality_figure(tables: Tables, domain: str, metric: str) -> Figure:
    """UE+SBA by centrality at every budget, with 95 % intervals."""
    settings = tables.settings
    rows = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == metric)
        & (pl.col("method") == OURS)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("value").is_not_null()
    )
    with mpl.rc_context(RC):
        figure = Figure(figsize=(4.6, 3.5), layout="constrained")
        axes = figure.add_subplot()
        names = list(settings.centralities)
        styles = list(STYLES.values())
        for place, budget in enumerate(settings.budgets_percent):
            of_budget = rows.filter(pl.col("budget_percent") == budget)
            shift = (place - (len(settings.budgets_percent) - 1) / 2) * 0.18
            style = {**styles[-1 - place % len(styles)], "linestyle": ""}
            x = [names.index(name) + shift for name in of_budget["centrality"]]
            _line(axes, of_budget, f"{budget} %", x, style)
        axes.set_xticks(
            range(len(names)), [name.replace("_", " ") for name in names], rotation=20, ha="right"
        )
        _finish(figure, axes, FIGURE_METRICS[metric])
    return figure


def precision_recall_figure(tables: Tables, domain: str) -> Figure:
    """Precision against recall at the middle budget; dotted: none and all verified."""
    rows = tables.precision_recall.filter(pl.col("domain") == domain)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(4.6, 3.5), layout="constrained")
        axes = figure.add_subplot()
        for method in (*BUDGETED, *ENDS):
            of_method = rows.filter(pl.col("method") == method)
            if of_method.is_empty():
                continue
            x, y = of_method["recall"].to_list(), of_method["precision"].to_list()
            if method in BUDGETED:
                style = {**STYLES[method], "marker": ""}
                axes.plot(x, y, label=method, linewidth=1.6, **style)
            else:
                axes.plot(x, y, color=INK, linewidth=0.8, linestyle=(0, (2, 3)), alpha=0.7)
                axes.annotate(
                    method,
                    (x[-1], y[-1]),
                    (4, 0),
                    textcoords="offset points",
                    fontsize=8,
                    va="center",
                )
        axes.set_xlabel("recall")
        _finish(figure, axes, "Precision")
    return figure


def inline_svg(figure: Figure, salt: str) -> str:
    """The figure for a place inside HTML: no header, no name spaces, the page's text colour.

    ``salt`` makes its identifiers differ from those of the page's other figures.
    """
    return _inlined(_svg(figure, salt).replace(INK, "currentColor"))


def figure_files(figure: Figure, salt: str) -> dict[str, bytes]:
    """The figure as files by suffix, in dark on white: ``svg`` and ``png`` (200 dots an inch)."""
    image = io.BytesIO()
    canvas = FigureCanvasAgg(figure)
    canvas.print_png(image, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return {"svg": _svg(figure, salt).replace(INK, _DARK).encode(), "png": image.getvalue()}


def _leading(tables: Tables, domain: str, metric: str) -> pl.DataFrame:
    settings = tables.settings
    return tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == metric)
        & (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("value").is_not_null()
    )


def _finish(figure: Figure, axes: Any, label: str) -> None:
    axes.set_ylabel(label)
    axes.margins(x=0.12)
    axes.grid(axis="y", color=INK, alpha=0.12, linewidth=0.6)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    else:
        axes.text(0.5, 0.5, _EMPTY, ha="center", va="center", transform=axes.transAxes)


def _line(
    axes: Any,
    rows: pl.DataFrame,
    label: str,
    x: list[float],
    style: dict[str, Any] | None = None,
) -> None:
    if rows.is_empty():
        return
    style = style or STYLES[label]
    axes.plot(x, rows["value"].to_list(), label=label, markersize=5, linewidth=1.6, **style)
    for at, row in zip(x, rows.iter_rows(named=True), strict=True):
        if row["lower_95"] is not None:
            ends = [row["lower_95"], row["upper_95"]]
            axes.plot([at, at], ends, color=style["color"], linewidth=1.1, alpha=0.75)


def _end(axes: Any, rows: pl.DataFrame, name: str) -> None:
    if rows.is_empty():
        return
    value = rows["value"][0]
    axes.axhline(value, color=INK, linewidth=0.8, linestyle=(0, (2, 3)), alpha=0.7)
    axes.annotate(
        name,
        (1, value),
        (4, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=8,
        va="center",
    )


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


def _svg(figure: Figure, salt: str) -> str:
    buffer = io.StringIO()
    with mpl.rc_context({**RC, "svg.hashsalt": salt}):
        FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
            buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return buffer.getvalue()


def _inlined(text: str) -> str:
    # The figure's and axes' white ground would hide the page's own.
    text = re.sub(r"fill: #ffffff", "fill: none", text[text.index("<svg") :])
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    # Its style sheet would reach the whole page; the size comes from the page.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    return f'{head} aria-hidden="true" focusable="false">{rest}'
