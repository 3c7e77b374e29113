"""Figures as SVG: the same bytes for the same tables, legible on light and on dark ground."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from simulrag.evaluation.claim_level import BUDGETED
from simulrag.evaluation.names import FIGURE_METRICS
from simulrag.evaluation.tables import Tables

# Mid tones: a contrast of 3 or more on white and on near black. Marker and dash differ as well.
_STYLES: dict[str, dict[str, Any]] = {
    "Random": {"color": "#7d868f", "marker": "s", "linestyle": (0, (1, 1.5))},
    "Verbalized": {"color": "#b7791f", "marker": "^", "linestyle": (0, (5, 2))},
    "Uncertainty": {"color": "#3b82c4", "marker": "D", "linestyle": (0, (3, 1.5, 1, 1.5))},
    "UE+SBA": {"color": "#d6455d", "marker": "o", "linestyle": "-"},
}
# Stands for the page's text colour; no other element uses it.
_INK = "#010203"
_EMPTY = "undefined at every budget:\nthe notes below the table say why"
_RC: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def budget_figure(tables: Tables, domain: str, metric: str) -> str:
    """A metric against the verification budget, a line a method with its 95 % interval, as SVG.

    For a place inside HTML: without XML header and name spaces. Lines are moved a little apart
    sideways so that intervals do not hide each other.
    """
    settings = tables.settings
    rows = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == metric)
        & (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("value").is_not_null()
    )
    with mpl.rc_context({**_RC, "svg.hashsalt": f"{domain}-{metric}"}):
        figure = Figure(figsize=(4.6, 3.5), layout="constrained")
        axes = figure.add_subplot()
        for place, method in enumerate(BUDGETED):
            _line(axes, rows.filter(pl.col("method") == method), method, place)
        for end in ("no-RAG", "all-RAG"):
            _end(axes, rows.filter(pl.col("method") == end), end)
        axes.set_xticks(settings.budgets_percent, [f"{b} %" for b in settings.budgets_percent])
        axes.set_xlabel("claims verified")
        axes.set_ylabel(FIGURE_METRICS[metric])
        axes.margins(x=0.12)
        axes.grid(axis="y", color=_INK, alpha=0.12, linewidth=0.6)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", ncols=2, frameon=False)
        else:
            axes.text(0.5, 0.5, _EMPTY, ha="center", va="center", transform=axes.transAxes)
        return _inlined(_svg(figure))


def _line(axes: Any, rows: pl.DataFrame, method: str, place: int) -> None:
    if rows.is_empty():
        return
    style = _STYLES[method]
    x = [budget + (place - 1.5) * 0.7 for budget in rows["budget_percent"]]
    axes.plot(x, rows["value"].to_list(), label=method, markersize=5, linewidth=1.6, **style)
    with_interval = [
        (at, row["lower_95"], row["upper_95"])
        for at, row in zip(x, rows.iter_rows(named=True), strict=True)
        if row["lower_95"] is not None
    ]
    for at, lower, upper in with_interval:
        axes.plot([at, at], [lower, upper], color=style["color"], linewidth=1.1, alpha=0.75)


def _end(axes: Any, rows: pl.DataFrame, name: str) -> None:
    if rows.is_empty():
        return
    value = rows["value"][0]
    axes.axhline(value, color=_INK, linewidth=0.8, linestyle=(0, (2, 3)), alpha=0.7)
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


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
        buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    text = buffer.getvalue().replace(_INK, "currentColor")
    # The figure's and axes' white ground would hide the page's own.
    return re.sub(r"fill: #ffffff", "fill: none", text)


def _inlined(text: str) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    # Its style sheet would reach the whole page; the size comes from the page.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    return f'{head} aria-hidden="true" focusable="false">{rest}'
