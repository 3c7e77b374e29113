"""Pictures of recipes: the quality of each way to write an answer, and its price."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flows.report.blocks import Figure, interval, percent
from flows.report.chart import (
    BLUE,
    GREEN,
    GREY,
    OCHRE,
    RED,
    Axis,
    Look,
    Point,
    Series,
    lines,
    side_by_side,
)
from flows.report.recipes import VariantSummary
from flows.report.run import DomainTable
from simulrag.metrics.methods import CLOSED_BOOK, GROUNDED, SIMULRAG

_COLORS: dict[str, str] = {
    CLOSED_BOOK: GREY.color,
    "input_rag": BLUE.color,
    "output_rag": OCHRE.color,
    "rag_looks": BLUE.color,
    SIMULRAG: RED.color,
    GROUNDED: GREEN.color,
}
_MARKERS = ("square", "triangle", "diamond", "circle")
_EMPTY = "no final answer could be measured"


def axes(recipes: Sequence[VariantSummary]) -> tuple[Axis, Axis, Axis]:
    """Calls, share true and true claims, of all domains, so that their figures compare."""
    shares = [one.found["factuality"] for one in recipes if "factuality" in one.found]
    lowest = [row.lower_95 if row.lower_95 is not None else row.value for row in shares]
    calls = [calls for one in recipes if (calls := one.value("calls")) is not None]
    least = min((low for low in lowest if low is not None), default=0.0)
    claims = [one.found["informativeness"] for one in recipes if "informativeness" in one.found]
    most = max((row.upper_95 or row.value or 0.0 for row in claims), default=1.0)
    return (
        Axis("model calls a question", ends=(0, 1.06 * max(calls, default=1))),
        Axis("share true", ends=(max(0.0, math.floor(10 * least) / 10 - 0.02), 1.02)),
        Axis("true claims", ends=(0, most or 1.0)),
    )


def quality(
    domain: DomainTable, recipes: Sequence[VariantSummary], share_axis: Axis, claims_axis: Axis
) -> Figure:
    """A row a recipe: its share true and its true claims side by side."""
    rows, said = [], []
    for one in recipes:
        shown: list[tuple[Point, str] | None] = []
        for metric, places, what in (
            ("factuality", 2, "of its claims true"),
            ("informativeness", 1, "true claims a question"),
        ):
            row = one.found.get(metric)
            if row is None or row.value is None:
                shown.append(None)
                continue
            words = f"{one.name}: {interval(row, places=places)} {what}"
            said.append(words)
            point = Point(row.value, 0, words, row.lower_95, row.upper_95)
            shown.append((point, f"{row.value:.{places}f}"))
        rows.append((one.name, Look(_COLORS[one.method], "circle"), shown))
    return Figure(
        name=f"{domain.name}-quality",
        kind="quality",
        caption=f"{domain.title}: the share of what is said that is true, and how much is true. "
        "Bars: 95 % intervals.",
        text=f"Share true and true claims, {domain.name}. {'; '.join(said) or 'Undefined'}.",
        svg=side_by_side(rows, (share_axis, claims_axis)),
        domain=domain.name,
    )


def price(
    domain: DomainTable, recipes: Sequence[VariantSummary], calls_axis: Axis, share_axis: Axis
) -> Figure:
    """A dot a recipe: its share true over its model calls."""
    series, said = [], []
    seen: dict[str, int] = {}
    for recipe in recipes:
        if recipe.twin:
            continue
        share, calls = recipe.found.get("factuality"), recipe.value("calls")
        if share is None or share.value is None or calls is None:
            continue
        words = (
            f"{recipe.name}: {calls:.1f} calls a question, {percent(share.value)} of its claims "
            f"true, {interval(recipe.found.get('informativeness'), places=1)} true claims"
        )
        said.append(words)
        place = seen.setdefault(_COLORS[recipe.method], 0)
        seen[_COLORS[recipe.method]] += 1
        look = Look(_COLORS[recipe.method], _MARKERS[place % len(_MARKERS)], None)
        point = Point(calls, share.value, words, share.lower_95, share.upper_95)
        series.append(Series(recipe.name, [point], look))
    return Figure(
        name=f"{domain.name}-recipes",
        kind="recipes",
        caption=f"{domain.title}: share of true claims against model calls a question. "
        "Bars: 95 % intervals.",
        text=f"Share of true claims by calls, {domain.name}. {'; '.join(said) or 'Undefined'}.",
        svg=lines(series, calls_axis, share_axis, _EMPTY),
        domain=domain.name,
    )
