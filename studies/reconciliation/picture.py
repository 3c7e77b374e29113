"""``python -m studies.reconciliation.picture FILE``: the figure of docs/how-it-works.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Literal

from simulrag.report.chart import (
    BLUE,
    GREY,
    OCHRE,
    RED,
    WIDTH,
    Axis,
    Look,
    Point,
    Series,
    lines,
)
from studies.reconciliation.comparison import (
    CURVE_BUDGET,
    CURVE_DRAWS,
    DRAWS,
    Compared,
    Rule,
    compare,
    curve,
    drawn,
)
from studies.reconciliation.synthetic_answers import World

RULES: tuple[tuple[Rule, str, Look], ...] = (
    ("reconciled", "reconciled", RED),
    ("paper", "paper", GREY),
    ("voted", "paper, one voice", OCHRE),
    ("settled", "paper, settled", BLUE),
)
CURVES: tuple[tuple[Literal["misplaced", "correlation"], str], ...] = (
    ("misplaced", "claims in a wrong subject (e)"),
    ("correlation", "answers that copy one source (r)"),
)
TITLE = (
    "True subjects of reconciled answers and of the paper's, on answers drawn from a known truth"
)
_GAP, _TOP, _BOTTOM = 30, 34, 8
_STYLE = (
    "svg{color:#1b1f24}.ground{fill:#fdfdfb}"
    "@media (prefers-color-scheme:dark){svg{color:#e6e9ec}.ground{fill:#15181e}}"
)


def picture(found: Sequence[Compared], curves: Sequence[Sequence[tuple[float, Compared]]]) -> str:
    """Three panels side by side, for light and dark pages."""
    subjects = World().subjects
    panels = [(f"True subjects of {subjects}, {DRAWS:,} draws", _budgets(found))]
    for (_, across), points in zip(CURVES, curves, strict=True):
        name = f"Gain over paper, {CURVE_BUDGET:g} % of claims, {CURVE_DRAWS} draws"
        panels.append((name, _gains(points, across)))
    placed = "".join(
        f'<g transform="translate({at * (WIDTH + _GAP)} 0)">'
        f'<text x="{WIDTH / 2:g}" y="24" text-anchor="middle" font-size="15" font-weight="600" '
        f'fill="currentColor">{escape(title)}</text>{_placed(svg)}</g>'
        for at, (title, svg) in enumerate(panels)
    )
    wide = len(panels) * (WIDTH + _GAP) - _GAP
    high = _TOP + max(_height(svg) for _, svg in panels) + _BOTTOM
    font = panels[0][1].partition('font-family="')[2].partition('"')[0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high:g}" role="img" '
        f'aria-label="{escape(TITLE)}" font-family="{font}"><style>{_STYLE}</style>'
        f'<rect class="ground" width="100%" height="100%"/>{placed}</svg>\n'
    )


def _budgets(found: Sequence[Compared]) -> str:
    series = []
    for rule, name, look in RULES:
        points = [(one.budget_percent, fmean(one.true[rule])) for one in found]
        marks = [Point(x, y, f"{name}, {x:g} %: {y:.2f}") for x, y in points]
        series.append(Series(name, marks, look))
    ticks = [(one.budget_percent, f"{one.budget_percent:g}") for one in found]
    sent = Axis("% of claims that may be verified", ticks)
    return lines(series, sent, Axis("true subjects", ends=(0.0, float(World().subjects))), "")


def _gains(points: Sequence[tuple[float, Compared]], across: str) -> str:
    marks = []
    for share, one in points:
        gain = one.gain("paper")
        said = f"{share:g}: {gain.mean:.2f}, {gain.lower:.2f} to {gain.upper:.2f}"
        marks.append(Point(share, gain.mean, said, gain.lower, gain.upper))
    zero = Series(
        "", [], Look("currentColor", "", "1 3"), path=((0.0, 0.0), (1.0, 0.0)), named=True
    )
    gains = Series("reconciled less paper, 95 %", marks, RED)
    return lines(
        [zero, gains], Axis(across, ends=(-0.03, 1.03)), Axis("true subjects", ends=(-0.5, 4.5)), ""
    )


def _height(svg: str) -> float:
    return float(svg.partition('viewBox="')[2].partition('"')[0].split()[3])


def _placed(svg: str) -> str:
    return svg.replace("<svg", f'<svg y="{_TOP}" width="{WIDTH}" height="{_height(svg):g}"', 1)


def main() -> None:
    """Measure and draw."""
    found = compare(drawn(World(), DRAWS))
    text = picture(found, [list(curve(changed)) for changed, _ in CURVES])
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
