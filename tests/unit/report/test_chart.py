"""Charts: where points lie, what they say, and that they stay text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from flows.report.chart import (
    BLUE,
    ENDS,
    RED,
    Axis,
    Point,
    Series,
    dots,
    lines,
    side_by_side,
    standalone,
)

MARK = re.compile(
    r'<path class="mark"(?: data-series="(\d+)")? transform="translate\(([\d.]+) ([\d.]+)\)"'
    r".*?<title>(.*?)</title>"
)


def marks(svg: str) -> list[tuple[str, float, float, str]]:
    return [(series, float(x), float(y), said) for series, x, y, said in MARK.findall(svg)]


def test_points_lie_where_their_values_are() -> None:
    points = [Point(0, 0, "start"), Point(1, 1, "<b> & 'c'"), Point(2, 2, "end", 1.5, 2)]
    axis = Axis("x", ends=(0, 2))
    svg = lines([Series("one", points, BLUE)], axis, Axis("y", ends=(0, 2)), "")
    (_, x0, y0, _), (series, x1, y1, said), (_, x2, y2, _) = marks(svg)
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.1)
    assert x0 < x2
    assert y0 > y2, "up is more"
    assert series == "0"
    assert said == "&lt;b&gt; &amp; &#x27;c&#x27;"
    assert svg.count('data-series="0"') == 1 + 3, "the line with its interval, and its points"
    assert 'data-key="0"' in svg


def test_a_named_line_is_not_in_the_legend() -> None:
    end = Series("all-RAG", [], ENDS, [(0, 1), (2, 1)], named=True)
    svg = lines([Series("one", [Point(1, 1, "a")], RED), end], Axis("x"), Axis("y"), "")
    assert ">all-RAG</text>" in svg
    assert svg.count('class="key"') == 1


def test_without_values_it_says_so() -> None:
    svg = lines([Series("none", [], BLUE)], Axis("x"), Axis("y"), "undefined here:\nsee below")
    assert "undefined here:" in svg
    assert "see below" in svg
    assert marks(svg) == []
    assert "a name" in dots([("a name", None, RED)], "share", 1.0)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.93, 0.97, ["0.93", "0.94", "0.95", "0.96", "0.97"]),
        (0.0, 1000.0, ["0", "200", "400", "600", "800", "1000"]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, labels: list[str]) -> None:
    svg = lines(
        [Series("one", [Point(0, low, "a"), Point(1, high, "b")], RED)],
        Axis("x", ticks=[(0, "zero")]),
        Axis("y", ends=(low, high)),
        "",
    )
    assert re.findall(r">([\d.]+)</text>", svg) == labels


def test_equal_values_have_an_axis() -> None:
    svg = lines([Series("one", [Point(1, 1, "a")], RED)], Axis("x"), Axis("y"), "")
    assert len(marks(svg)) == 1
    assert "nan" not in svg


def test_dots_start_at_zero_and_fit_their_intervals() -> None:
    rows = [("a", Point(4, 0, "four", 3, 8), RED), ("b", Point(0, 0, "nothing"), BLUE)]
    (_, four, _, _), (_, zero, _, _) = marks(dots(rows, "claims", None))
    assert 14 == zero < four < 440 * 0.6


def test_dots_below_zero_stay_inside() -> None:
    below, none = Point(-0.5, 0, "below", -0.9, -0.1), Point(0.0, 0, "none")
    for rows in ([("a", below, RED)], [("a", below, RED), ("b", none, RED)], [("b", none, RED)]):
        assert all(14 <= float(mark[1]) <= 420 for mark in marks(dots(rows, "use", None)))


def test_values_side_by_side_share_their_axes_and_stand_in_numbers() -> None:
    axes = (Axis("share", ends=(0, 1)), Axis("claims", ends=(0, 10)))
    half = (Point(0.5, 0, "half", 0.4, 0.6), "0.50")
    svg = side_by_side(
        [("a", RED, (half, (Point(5, 0, "five"), "5.0"))), ("b", BLUE, (half, None))], axes
    )
    shown = {said: x for _, x, _, said in marks(svg)}
    assert shown["five"] - shown["half"] == pytest.approx((440 - 24) / 2, abs=0.2)
    assert re.findall(r">(0\.50|5\.0)</text>", svg) == ["0.50", "5.0", "0.50"]


def test_a_file_is_a_picture_of_its_own() -> None:
    svg = standalone(dots([("<a>", Point(0.5, 0, "half", 0.4, 0.6), RED)], "share", 1.0))
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.get("color") == "#1b1f24"
    assert root[0].get("fill") == "#ffffff"
    assert root.get("viewBox")
