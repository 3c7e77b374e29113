"""One chart: lines with intervals, and the points that a reader can ask, on any ground."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

Style = dict[str, Any]

# Mid tones: a contrast of 3 or more on white and on near black. Marker and dash differ as well.
GREY: Style = {"color": "#7d868f", "marker": "s", "linestyle": (0, (1, 1.5))}
OCHRE: Style = {"color": "#b7791f", "marker": "^", "linestyle": (0, (5, 2))}
BLUE: Style = {"color": "#3b82c4", "marker": "D", "linestyle": (0, (3, 1.5, 1, 1.5))}
RED: Style = {"color": "#d6455d", "marker": "o", "linestyle": "-"}
# Stands for the page's text colour; no other element uses it.
INK = "#010203"
_WIDTH, _HEIGHT = 4.6, 3.2
_LEFT, _RIGHT, _TOP = 0.68, 0.5, 0.12
_BELOW = 0.52
_POINTS = 72
"""Points an inch; all other lengths are inches."""
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
_SHAPES = {
    "s": "M11 3h6v6h-6z",
    "^": "M14 2l4 7h-8z",
    "D": "M14 2l4 4-4 4-4-4z",
    "o": "M14 2.5a3.5 3.5 0 1 1 0 7a3.5 3.5 0 1 1 0-7z",
    "": "",
}


@dataclass(frozen=True)
class Point:
    """A value in data coordinates, its interval if it has one, and what it says in words."""

    x: float
    y: float
    said: str
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Key:
    """A legend's entry: the name of a series, and its line and marker as inline SVG."""

    name: str
    swatch: str


class Chart:
    """A pair of axes that keeps what was drawn into it by series."""

    def __init__(self, below: float) -> None:
        self.figure = Figure()
        self.axes: Any = self.figure.add_subplot()
        self._below = below
        self.frame()
        self._styles: dict[str, Style] = {}
        self._marks: list[tuple[int | None, Point]] = []
        self._artists = 0
        self.empty = True
        """Whether neither a line nor a bar was drawn."""

    def frame(self, more: float = 0) -> None:
        """Set the size, with ``more`` inches at the bottom.

        Fixed margins take half the time of a layout that measures every label.
        """
        height = _HEIGHT + more
        self.figure.set_size_inches(_WIDTH, height)
        self.figure.subplots_adjust(
            left=_LEFT / _WIDTH,
            right=1 - _RIGHT / _WIDTH,
            top=1 - _TOP / height,
            bottom=(self._below + more) / height,
        )

    def line(
        self, name: str, points: Sequence[Point], style: Style, every: Sequence[Point] | None = None
    ) -> None:
        """A series: its line, its intervals, and a mark a point. ``every``: the line's own points,
        where it has more than are marked. Nothing where there is no point.
        """
        if not points:
            return
        self.empty = False
        place = len(self._styles)
        self._styles[name] = style
        drawn = points if every is None else every
        (line,) = self.axes.plot(
            [point.x for point in drawn],
            [point.y for point in drawn],
            label=name,
            markersize=5,
            linewidth=1.6,
            **style,
        )
        self._belongs(line, place)
        bars = [point for point in points if point.lower is not None]
        if bars:
            self._belongs(
                self.axes.vlines(
                    [point.x for point in bars],
                    [point.lower for point in bars],
                    [point.upper for point in bars],
                    color=style["color"],
                    linewidth=1.1,
                    alpha=0.75,
                ),
                place,
            )
        self._marks += [(place, point) for point in points]

    def bar(self, name: str, point: Point, color: str) -> None:
        """A bar from 0 to ``x`` at the height ``y`` with its interval, its name above it."""
        self.empty = False
        self.axes.barh([point.y], [point.x], height=0.4, color=color)
        if point.lower is not None:
            span = [point.lower, point.upper]
            self.axes.plot(span, [point.y, point.y], color=INK, linewidth=1.4)
        self.bar_name(name, point.y)
        self._marks.append((None, point))

    def bar_name(self, text: str, y: float) -> None:
        """What stands above the bar at the height ``y``, alone where there is no bar."""
        self.axes.annotate(
            text, (0, y + 0.2), (0, 3), textcoords="offset points", va="bottom", fontsize=9
        )

    def level(self, name: str, point: Point) -> None:
        """A dotted line at one height over the whole width, its name at the right edge."""
        self.axes.axhline(point.y, color=INK, linewidth=0.8, linestyle=(0, (2, 3)), alpha=0.7)
        self.name(name, 1, point.y, of_axes=True)
        self._marks.append((None, point))

    def dotted(self, points: Sequence[Point], marked: Sequence[Point] = ()) -> None:
        """A thin dotted line that has no entry in the legend."""
        x, y = [point.x for point in points], [point.y for point in points]
        self.axes.plot(x, y, color=INK, linewidth=0.8, linestyle=(0, (2, 3)), alpha=0.7)
        self._marks += [(None, point) for point in marked]

    def cross(self, name: str, point: Point) -> None:
        """A single point with its name above it."""
        self.axes.plot([point.x], [point.y], color=INK, marker="x", markersize=6)
        self.axes.annotate(
            name, (point.x, point.y), (0, 6), textcoords="offset points", ha="center", fontsize=8
        )
        self._marks.append((None, point))

    def name(self, text: str, x: float, y: float, *, of_axes: bool = False) -> None:
        """A name to the right of a place; ``of_axes``: x is a share of the width."""
        self.axes.annotate(
            text,
            (x, y),
            (4, 0),
            xycoords=("axes fraction" if of_axes else "data", "data"),
            textcoords="offset points",
            fontsize=8,
            va="center",
        )

    @property
    def legend(self) -> tuple[Key, ...]:
        """The series in the order drawn."""
        return tuple(Key(name, _swatch(style)) for name, style in self._styles.items())

    def marks(self) -> Iterator[tuple[int | None, float, float, str]]:
        """Series, place in the last drawn picture (points from its upper left), and words."""
        width, height = (inches * _POINTS for inches in self.figure.get_size_inches())
        to_share = self.figure.transFigure.inverted()
        for series, point in self._marks:
            x, y = to_share.transform(self.axes.transData.transform((point.x, point.y)))
            yield series, x * width, (1 - y) * height, point.said

    def _belongs(self, artist: Any, place: int) -> None:
        artist.set_gid(f"series-{place}-{self._artists}")
        self._artists += 1


@contextmanager
def chart(x_label: str, y_label: str, empty: str, below: float = _BELOW) -> Iterator[Chart]:
    """A chart to draw into, finished at the end; ``empty`` stands in one without a value.

    ``below``: inches below the axes, for tick labels that are long.
    """
    with mpl.rc_context(RC):
        drawn = Chart(below)
        yield drawn
        drawn.axes.set_xlabel(x_label)
        drawn.axes.set_ylabel(y_label)
        drawn.axes.grid(axis="y", color=INK, alpha=0.12, linewidth=0.6)
        if drawn.empty:
            drawn.axes.text(
                0.5, 0.5, empty, ha="center", va="center", transform=drawn.axes.transAxes
            )


def _swatch(style: Style) -> str:
    dashes = style["linestyle"]
    dashed = (
        f' stroke-dasharray="{" ".join(str(2 * part) for part in dashes[1])}"'
        if isinstance(dashes, tuple)
        else ""
    )
    line = f'<path d="M0 6H28" stroke="{style["color"]}" stroke-width="2"{dashed}/>'
    shape = f'<path d="{_SHAPES[style["marker"]]}" fill="{style["color"]}"/>'
    return (
        '<svg viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">'
        f"{line if dashes else ''}{shape}</svg>"
    )
