"""Charts as SVG text: the same bytes on every machine, in the page's own colours.

Text and axes are drawn in ``currentColor``, so that a chart fits a light page and a dark one. Every
point that can be asked is a ``.mark`` with its words as ``title``; what belongs to a series says so
in ``data-series``. Lengths are in the units of the view box. Why no plotting library draws them:
docs/decisions/0006-report-figures.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 440
_LEFT, _RIGHT, _TOP, _PLOT, _BELOW = 56, 52, 12, 216, 44
_LEGEND_ROW, _LEGEND_COLUMNS, _ROW = 20, 2, 42
_LEGEND_LEFT, _LEGEND_COLUMN = 14, 213
"""A column holds "paper 100 %, m = 1" as large as the page writes it."""
_NUMBER = 52
"""Room for the number beside a value, right of its axis."""
_NAMESPACE = "http://www.w3.org/2000/svg"
_STANDALONE = "#1b1f24"
_FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_SHAPES = {
    "square": "M-4-4h8v8h-8z",
    "triangle": "M0-5l5 9h-10z",
    "diamond": "M0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z",
    "circle": "M0-4.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9z",
    "cross": "M-5-5L5 5M-5 5L5-5",
    "": "M0-6a6 6 0 1 1 0 12a6 6 0 1 1 0-12z",
}


@dataclass(frozen=True)
class Look:
    """How a series is drawn: mid tones (contrast of 3 on white and on near black), and no two
    series differ by colour only. ``dash`` "": a full line; None: no line.
    """

    color: str
    marker: str
    dash: str | None = ""


GREY = Look("#7d868f", "square", "1.5 2.5")
OCHRE = Look("#b7791f", "triangle", "7 3")
BLUE = Look("#3b82c4", "diamond", "5 2 1.5 2")
RED = Look("#d6455d", "circle")
GREEN = Look("#3f9142", "square", "3 2")
ENDS = Look("currentColor", "", "1 3")


@dataclass(frozen=True)
class Point:
    """A value in data coordinates, what it says in words, and its interval if it has one."""

    x: float
    y: float
    said: str
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Series:
    """Points with a name. ``path``: its line, where that has other points than those marked.

    ``named``: the name stands where the line ends and not in the legend.
    """

    name: str
    points: Sequence[Point]
    look: Look
    path: Sequence[tuple[float, float]] = ()
    named: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its title, its ticks by place (None: round numbers), and its ends (None: to fit).

    ``slanted``: tick labels are long words.
    """

    title: str
    ticks: Sequence[tuple[float, str]] | None = None
    ends: tuple[float, float] | None = None
    slanted: bool = False


def lines(series: Sequence[Series], x: Axis, y: Axis, empty: str) -> str:
    """Draw series over two axes with 95 % intervals; ``empty`` stands where there is no point."""
    shown = [curve for curve in series if curve.points or curve.path]
    keys = [curve for curve in shown if not curve.named]
    below = _BELOW + (26 if x.slanted else 0)
    height = _TOP + _PLOT + below + _LEGEND_ROW * math.ceil(len(keys) / _LEGEND_COLUMNS)
    if not shown:
        words = [
            _text(line, WIDTH / 2, height / 2 + 18 * i) for i, line in enumerate(empty.split("\n"))
        ]
        return _svg(height, words)
    across = _Scale(
        _span(x, (p[0] for curve in shown for p in _xy(curve)), 0.06), _LEFT, WIDTH - _RIGHT
    )
    up = _Scale(
        _span(y, (value for curve in shown for value in _ys(curve)), 0.05), _TOP + _PLOT, _TOP
    )
    parts = [*_frame(across, up, x, y)]
    for place, curve in enumerate(shown):
        parts.append(_tag("g", _drawn(curve, across, up), data_series=place))
    parts += _legend(keys, [shown.index(curve) for curve in keys], height)
    parts += [
        _mark(point, across(point.x), up(point.y), curve.look, place)
        for place, curve in enumerate(shown)
        for point in curve.points
    ]
    return _svg(height, parts)


def dots(rows: Sequence[tuple[str, Point | None, Look]], title: str, highest: float | None) -> str:
    """Draw a row a name: its value (``x`` of the point) with its interval, from 0 to ``highest``.

    None as ``highest``: to fit; values below 0 are fitted too. A row without a point is its name.
    """
    height = _TOP + _ROW * len(rows) + _BELOW
    bottom = _TOP + _ROW * len(rows)
    points = [point for _, point, _ in rows if point is not None]
    most = max([0.0, *(point.upper or point.x for point in points)]) if points else 1.0
    least = min([0.0, *(point.x if point.lower is None else point.lower for point in points)])
    across = _Scale((1.05 * least, highest or 1.05 * most or -least or 1.0), 14, WIDTH - 20)
    parts = [*_ticks_below(across, Axis(title), bottom)]
    for place, (name, point, look) in enumerate(rows):
        y = _TOP + _ROW * place + 30
        parts.append(_text(name, 14, y - 13, anchor="start"))
        parts.append(_rule(14, y, WIDTH - 20, y, opacity="0.18"))
        if point is None:
            continue
        if point.lower is not None and point.upper is not None:
            parts.append(
                _rule(across(point.lower), y, across(point.upper), y, color=look.color, width="3")
            )
        parts.append(_mark(point, across(point.x), y, look, None))
    return _svg(height, parts)


def side_by_side(
    rows: Sequence[tuple[str, Look, Sequence[tuple[Point, str] | None]]], axes: Sequence[Axis]
) -> str:
    """Draw a row a name: over each axis its value with its interval, and the number beside it.

    ``axes`` have ends: they are shared with other figures. A value is ``x`` of its point and the
    words beside it.
    """
    bottom = _TOP + _ROW * len(rows)
    width = (WIDTH - 24) / len(axes)
    scales = [
        _Scale(axis.ends or (0.0, 1.0), 12 + width * at, 12 + width * (at + 1) - _NUMBER)
        for at, axis in enumerate(axes)
    ]
    parts: list[str] = []
    for across, axis in zip(scales, axes, strict=True):
        parts += _ticks_below(across, axis, bottom)
    for place, (name, look, values) in enumerate(rows):
        y = _TOP + _ROW * place + 28
        parts.append(_text(name, 12, y - 12, anchor="start"))
        for across, value in zip(scales, values, strict=True):
            if value is None:
                continue
            point, number = value
            low, high = (
                across(point.x if end is None else end) for end in (point.lower, point.upper)
            )
            parts.append(_rule(across.start, y, low, y, opacity="0.18"))
            parts.append(_rule(low, y, high, y, color=look.color, width="3"))
            parts.append(_text(number, high + 9, y + 5, anchor="start"))
            parts.append(_mark(point, across(point.x), y, look, None))
    return _svg(bottom + _BELOW, parts)


def standalone(svg: str) -> str:
    """Make a chart a file of its own: dark on white."""
    opening = f'<svg xmlns="{_NAMESPACE}" color="{_STANDALONE}"'
    head, _, rest = svg.removeprefix("<svg").partition(">")
    return f'{opening}{head}><rect width="100%" height="100%" fill="#ffffff"/>{rest}\n'


class _Scale:
    """From data to the view box."""

    def __init__(self, span: tuple[float, float], start: float, end: float) -> None:
        self.low, self.high = span
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Choose about five round numbers."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * 0.9)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(i * step, f"{i * step:.{places}f}") for i in range(first, last + 1)]


def _xy(curve: Series) -> list[tuple[float, float]]:
    return list(curve.path) or [(point.x, point.y) for point in curve.points]


def _ys(curve: Series) -> Iterable[float]:
    yield from (y for _, y in _xy(curve))
    for point in curve.points:
        yield from (value for value in (point.y, point.lower, point.upper) if value is not None)


def _span(axis: Axis, values: Iterable[float], margin: float) -> tuple[float, float]:
    if axis.ends is not None:
        return axis.ends
    found = list(values)
    low, high = min(found), max(found)
    pad = margin * (high - low) or 0.5
    return low - pad, high + pad


def _frame(across: _Scale, up: _Scale, x: Axis, y: Axis) -> Iterable[str]:
    for value, label in y.ticks or up.ticks():
        yield _rule(_LEFT, up(value), WIDTH - _RIGHT, up(value), opacity="0.12")
        yield _text(label, _LEFT - 7, up(value) + 4, anchor="end", size=12)
    yield _rule(_LEFT, _TOP, _LEFT, _TOP + _PLOT)
    yield from _ticks_below(across, x, _TOP + _PLOT)
    yield _tag(
        "text",
        escape(y.title),
        text_anchor="middle",
        font_size=13,
        fill="currentColor",
        transform=f"translate(14 {_TOP + _PLOT / 2:g}) rotate(-90)",
    )


def _ticks_below(across: _Scale, axis: Axis, bottom: float) -> Iterable[str]:
    yield _rule(across.start, bottom, across.end, bottom)
    for value, label in axis.ticks or across.ticks():
        yield _rule(across(value), bottom, across(value), bottom + 4)
        if axis.slanted:
            yield _text(label, across(value) + 6, bottom + 16, anchor="end", size=12, turn=-20)
        else:
            yield _text(label, across(value), bottom + 18, size=12)
    if axis.title:
        yield _text(axis.title, (across.start + across.end) / 2, bottom + 36)


def _drawn(curve: Series, across: _Scale, up: _Scale) -> str:
    """Return a series' line and intervals, and its name where that belongs to the line."""
    parts = []
    places = [(across(x), up(y)) for x, y in _xy(curve)]
    if curve.look.dash is not None and len(places) > 1:
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        width = "1.2" if curve.named else "2"
        parts.append(
            _tag(
                "path",
                d=d,
                fill="none",
                stroke=curve.look.color,
                stroke_width=width,
                stroke_dasharray=curve.look.dash or None,
            )
        )
    for point in curve.points:
        if point.lower is not None and point.upper is not None and not curve.named:
            x = across(point.x)
            parts.append(
                _rule(
                    x,
                    up(point.lower),
                    x,
                    up(point.upper),
                    color=curve.look.color,
                    width="1.4",
                    opacity="0.75",
                )
            )
    if curve.named:
        x, y = places[-1]
        parts.append(_text(curve.name, x + 6, y + 4, anchor="start", size=11))
    return "".join(parts)


def _mark(point: Point, x: float, y: float, look: Look, place: int | None) -> str:
    seen = look.marker not in ("", "cross")
    return _tag(
        "path",
        f"<title>{escape(point.said)}</title>",
        class_="mark",
        data_series=place,
        transform=f"translate({x:.1f} {y:.1f})",
        d=_SHAPES[look.marker],
        fill=look.color if seen else "transparent",
        stroke=look.color if look.marker == "cross" else None,
        stroke_width=2 if look.marker == "cross" else None,
    )


def _legend(keys: Sequence[Series], places: Sequence[int], height: float) -> Iterable[str]:
    top = height - _LEGEND_ROW * math.ceil(len(keys) / _LEGEND_COLUMNS) + 12
    for index, (curve, place) in enumerate(zip(keys, places, strict=True)):
        x = _LEGEND_LEFT + index % _LEGEND_COLUMNS * _LEGEND_COLUMN
        y = top + index // _LEGEND_COLUMNS * _LEGEND_ROW
        swatch = [_text(curve.name, 36, 4, anchor="start")]
        if curve.look.dash is not None:
            swatch.append(
                _tag(
                    "path",
                    d="M0 0H28",
                    stroke=curve.look.color,
                    stroke_width=2,
                    stroke_dasharray=curve.look.dash or None,
                )
            )
        if curve.look.marker:
            shape = _SHAPES[curve.look.marker]
            swatch.append(_tag("path", d=shape, transform="translate(14 0)", fill=curve.look.color))
        yield _tag(
            "g", "".join(swatch), class_="key", data_key=place, transform=f"translate({x} {y})"
        )


def _svg(height: float, parts: Iterable[str]) -> str:
    return _tag("svg", "".join(parts), viewBox=f"0 0 {WIDTH} {height:g}", font_family=_FONT)


def _text(
    words: str, x: float, y: float, *, anchor: str = "middle", size: int = 13, turn: int = 0
) -> str:
    turned = f"rotate({turn} {x:.1f} {y:.1f})" if turn else None
    return _tag(
        "text",
        escape(words),
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        text_anchor=anchor,
        font_size=size,
        fill="currentColor",
        transform=turned,
    )


def _rule(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    *,
    color: str = "currentColor",
    width: str = "1",
    opacity: str | None = None,
) -> str:
    return _tag(
        "path",
        d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}",
        stroke=color,
        stroke_width=width,
        stroke_opacity=opacity,
    )


def _tag(name: str, content: str = "", **attributes: object) -> str:
    """Write an element; ``data_series`` stands for data-series, None for an attribute left out."""
    shown = "".join(
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{content}</{name}>"
