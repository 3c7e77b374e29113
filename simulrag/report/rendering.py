"""A chart as SVG inside the page, and as files: the same bytes for the same tables."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from html import escape

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from simulrag.report.drawing import INK, RC, Chart

_DARK = "#1b1f24"
_LEGEND_ROW, _LEGEND_COLUMNS = 0.24, 2


def inline_svg(drawn: Chart, salt: str) -> str:
    """The chart for a place inside HTML: no header, no legend, the page's text colour.

    Each marked point is a ``circle.mark`` with its words as title; what belongs to a series says
    so in ``data-series``. ``salt`` makes identifiers differ from those of the page's other charts.
    """
    text = _inlined(_svg(drawn.figure, salt).replace(INK, "currentColor"))
    return text.replace("</svg>", f'<g class="marks">{"".join(_circles(drawn))}</g></svg>')


def figure_files(drawn: Chart, salt: str) -> dict[str, bytes]:
    """The chart with its legend, by suffix, dark on white: ``svg``, ``png`` (200 dots an inch)."""
    image = io.BytesIO()
    rows = -(-len(drawn.legend) // _LEGEND_COLUMNS)
    with mpl.rc_context(RC):
        if rows:
            drawn.frame(rows * _LEGEND_ROW)
            legend = drawn.figure.legend(loc="lower center", ncols=_LEGEND_COLUMNS, frameon=False)
        vector = _svg(drawn.figure, salt).replace(INK, _DARK)
        # The vector's canvas has set its own resolution.
        drawn.figure.set_dpi(RC["figure.dpi"])
        canvas = FigureCanvasAgg(drawn.figure)
        canvas.print_png(image, metadata={"Software": None})  # type: ignore[no-untyped-call]
        if rows:
            legend.remove()
            drawn.frame()
    return {"svg": vector.encode(), "png": image.getvalue()}


def _circles(drawn: Chart) -> Iterable[str]:
    for series, x, y, said in drawn.marks():
        belongs = "" if series is None else f' data-series="{series}"'
        yield (
            f'<circle class="mark"{belongs} cx="{x:.1f}" cy="{y:.1f}" r="6">'
            f"<title>{escape(said)}</title></circle>"
        )


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
    # Nothing refers to these, and every figure of the page has the same.
    text = re.sub(r'id="series-(\d+)-\d+"', r'data-series="\1"', text)
    text = re.sub(r'<g id="[A-Za-z0-9.]+_\d+">', "<g>", text)
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    return f'{head} aria-hidden="true" focusable="false">{rest.rstrip()}'
