"""What a reader chooses between: each way to write an answer, its price and its quality in one row.

A recipe is a method with its m, budget and kappa. Its rows stand in several families of the long
table; here they come together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.methods import CLOSED_BOOK, FINAL, GROUNDED, SIMULRAG
from simulrag.metrics.settings import Undecided
from simulrag.metrics.table import ESTIMATED, Measurement
from simulrag.records import AnswerVariant

SHORT: dict[str, str] = {
    CLOSED_BOOK: "closed book",
    "input_rag": "input RAG",
    "output_rag": "output RAG",
    "rag_looks": "RAG by looks",
    SIMULRAG: "paper",
    GROUNDED: "grounded",
}
"""A method's name where recipes stand side by side, in that order; another stands last."""
_ORDER = (*SHORT, *(method for method in FINAL if method not in SHORT))
PRICE = (
    "calls",
    "input_tokens",
    "output_tokens",
    f"input_tokens{ESTIMATED}",
    f"output_tokens{ESTIMATED}",
    "chain",
    "simulator_runs",
)
"""Of the family ``method_cost``, a question."""
QUALITY = (
    "claims_sent",
    "informativeness",
    "false_claims",
    "undecided_claims",
    "factuality",
    "completeness",
    "words",
)
"""Of the family ``answers``, with intervals; all but the shares a question."""
_POOLED = ("calls", "informativeness", "false_claims", "undecided_claims", "words")


@dataclass(frozen=True)
class VariantSummary:
    """One way to write an answer; ``found``: its rows by metric.

    ``questions``: how many are complete. ``twin``: the same stands beside it with a kappa above 0.
    """

    line: AnswerVariant
    questions: int
    found: Mapping[str, Measurement]
    twin: bool = False

    @property
    def method(self) -> str:
        """The id of its method."""
        return self.line.method

    @property
    def name(self) -> str:
        """Method and budget; m where it is not the usual one: the paper samples, others do not."""
        budget, m = self.line.budget_percent, self.line.samples
        share = "" if budget is None else f" {budget:g} %"
        without = ", no kappa" if self.twin else ""
        usual = (m > 1) == (self.method == SIMULRAG)
        samples = "" if usual else f", m = {m}"
        return f"{SHORT.get(self.method) or method_name(self.method)}{share}{without}{samples}"

    @property
    def order(self) -> tuple[int, bool, float, float]:
        """One sample before several, small budgets before large ones."""
        samples, budget, kappa = self.line.size
        return _ORDER.index(self.method), samples > 1, budget, kappa

    def value(self, metric: str) -> float | None:
        """Return the value of a metric; None where it is not known."""
        row = self.found.get(metric)
        return None if row is None else row.value


def recipes_of(rows: Iterable[Measurement], undecided: Undecided) -> list[VariantSummary]:
    """Collect the recipes of a domain's long table, failed questions left out."""
    found: dict[AnswerVariant, dict[str, Measurement]] = {}
    for row in rows:
        quality = row.family == "answers" and row.metric in QUALITY
        if quality and (row.undecided, row.failures) != (undecided, "excluded"):
            continue
        price = row.family == "method_cost" and (row.level, row.step) == ("answer", "all")
        if row.method in FINAL and (quality or (price and row.metric in PRICE)):
            found.setdefault(row.line, {})[row.metric] = row
    twins = {line.model_copy(update={"kappa": 0.0}) for line in found if line.kappa}
    return sorted(
        (
            VariantSummary(
                line=line,
                questions=by_metric["factuality"].n or 0,
                found=by_metric,
                twin=line in twins,
            )
            for line, by_metric in found.items()
            if "factuality" in by_metric
        ),
        key=lambda recipe: recipe.order,
    )


def measured_recipes(run: ReportedRun, domain: DomainTable) -> list[VariantSummary]:
    """Collect the recipes of a domain, by the run's treatment of undecided claims."""
    rows = (*domain.rows("answers"), *domain.rows("method_cost"))
    return recipes_of(rows, run.settings.undecided)


def to_choose_from(recipes: Sequence[VariantSummary]) -> list[VariantSummary]:
    """Choose some eight: what was sampled once, and ours from all samples at each budget.

    Of ours from one sample only the largest budget stays, and nothing that was written a second
    time without kappa.
    """
    most = max((recipe.line.samples for recipe in recipes), default=1)
    largest = max((recipe.line.budget_percent or 0.0 for recipe in recipes), default=0.0)
    return [
        recipe
        for recipe in recipes
        if not recipe.twin
        if (
            recipe.line.samples == most or recipe.line.budget_percent == largest
            if recipe.method == SIMULRAG
            else recipe.line.samples == 1
        )
    ]


def pooled(domains: Sequence[Sequence[VariantSummary]]) -> list[VariantSummary]:
    """Pool the recipes that all domains have, over all of their questions together.

    Without intervals.
    """
    by_name: dict[str, list[VariantSummary]] = {}
    for recipe in (recipe for recipes in domains for recipe in recipes):
        by_name.setdefault(recipe.name, []).append(recipe)
    together = []
    for same in by_name.values():
        if len(same) < len(domains):
            continue
        values = {metric: _mean(same, metric) for metric in _POOLED}
        true, false = values["informativeness"], values["false_claims"]
        counted = None if true is None or false is None else true + false
        values["factuality"] = true / counted if true is not None and counted else None
        rows = {
            metric: Measurement(family="pooled", domain="", metric=metric, value=value)
            for metric, value in values.items()
        }
        questions = sum(recipe.questions for recipe in same)
        together.append(replace(same[0], questions=questions, found=rows))
    return together


def _mean(recipes: Sequence[VariantSummary], metric: str) -> float | None:
    """Over all questions that the values were taken over; None where a domain does not know it."""
    total = questions = 0.0
    for recipe in recipes:
        row = recipe.found.get(metric)
        if row is None or row.value is None or not row.n:
            return None
        total += row.value * row.n
        questions += row.n
    return total / questions


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


def _color(method: str) -> str:
    return _COLORS.get(method, OCHRE.color)


def axes(recipes: Sequence[VariantSummary]) -> tuple[Axis, Axis, Axis, Axis]:
    """Fit calls, runs, share true and true claims to all domains, so that their figures compare."""
    shares = [recipe.found["factuality"] for recipe in recipes if "factuality" in recipe.found]
    lowest = [row.lower_95 if row.lower_95 is not None else row.value for row in shares]
    calls, runs = (
        [amount for recipe in recipes if (amount := recipe.value(metric)) is not None]
        for metric in ("calls", "simulator_runs")
    )
    least = min((low for low in lowest if low is not None), default=0.0)
    claims = [
        recipe.found["informativeness"] for recipe in recipes if "informativeness" in recipe.found
    ]
    most = max((row.upper_95 or row.value or 0.0 for row in claims), default=1.0)
    return (
        Axis("model calls a question", ends=(0, 1.06 * max(calls, default=1))),
        Axis("simulator runs a question", ends=(0, 1.06 * max(runs, default=1))),
        Axis("share true", ends=(max(0.0, math.floor(10 * least) / 10 - 0.02), 1.02)),
        Axis("true claims", ends=(0, most or 1.0)),
    )


def quality(
    domain: DomainTable, recipes: Sequence[VariantSummary], share_axis: Axis, claims_axis: Axis
) -> Figure:
    """Draw a row a recipe: its share true and its true claims side by side."""
    rows, said = [], []
    for recipe in recipes:
        shown: list[tuple[Point, str] | None] = []
        for metric, places, what in (
            ("factuality", 2, "of its claims true"),
            ("informativeness", 1, "true claims a question"),
        ):
            row = recipe.found.get(metric)
            if row is None or row.value is None:
                shown.append(None)
                continue
            words = f"{recipe.name}: {interval(row, places=places)} {what}"
            said.append(words)
            point = Point(row.value, 0, words, row.lower_95, row.upper_95)
            shown.append((point, f"{row.value:.{places}f}"))
        rows.append((recipe.name, Look(_color(recipe.method), "circle"), shown))
    return Figure(
        name=f"{domain.name}-quality",
        kind="quality",
        caption=f"{domain.title}: share true, of the claims that can be decided (left), and true "
        "claims a question (right). Bars: 95 % intervals.",
        text=f"Share true and true claims, {domain.name}. {'; '.join(said) or 'Undefined'}.",
        svg=side_by_side(rows, (share_axis, claims_axis)),
        domain=domain.name,
    )


def price(
    domain: DomainTable,
    recipes: Sequence[VariantSummary],
    price_axis: Axis,
    share_axis: Axis,
    by: Literal["calls", "runs"] = "calls",
) -> Figure:
    """Draw a dot a recipe: its share true over its model calls, or its simulator runs."""
    metric, what = {
        "calls": ("calls", "model calls"),
        "runs": ("simulator_runs", "simulator runs"),
    }[by]
    series, said = [], []
    seen: dict[str, int] = {}
    for recipe in recipes:
        if recipe.twin:
            continue
        share, amount = recipe.found.get("factuality"), recipe.value(metric)
        if share is None or share.value is None or amount is None:
            continue
        words = (
            f"{recipe.name}: {amount:.1f} {by} a question, {percent(share.value)} of its claims "
            f"true, {interval(recipe.found.get('informativeness'), places=1)} true claims"
        )
        said.append(words)
        place = seen.setdefault(_color(recipe.method), 0)
        seen[_color(recipe.method)] += 1
        look = Look(_color(recipe.method), _MARKERS[place % len(_MARKERS)], None)
        point = Point(amount, share.value, words, share.lower_95, share.upper_95)
        series.append(Series(recipe.name, [point], look))
    return Figure(
        name=f"{domain.name}-{'recipes' if by == 'calls' else by}",
        kind="recipes",
        caption=f"{domain.title}: share of true claims against {what} a question. "
        "Bars: 95 % intervals.",
        text=f"Share of true claims by {by}, {domain.name}. {'; '.join(said) or 'Undefined'}.",
        svg=lines(series, price_axis, share_axis, _EMPTY),
        domain=domain.name,
    )
