"""What the report shows of one domain: its figures and tables, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from simulrag.metrics.claim_level import OURS
from simulrag.metrics.names import FIGURE_METRICS
from simulrag.metrics.published import (
    PAPER_METRICS,
    PAPER_STATISTICS,
    Replayed,
    published_view,
)
from simulrag.metrics.settings import UNDECIDED
from simulrag.metrics.tables import Tables
from simulrag.report.calibration import (
    RELIABILITY_CAPTION,
    calibration_view,
    conformal_view,
    reliability_figure,
    reliability_text,
)
from simulrag.report.checks import benchmark_view, retrieval_view
from simulrag.report.cost_tables import cost_view, method_cost_view, spending_view
from simulrag.report.drawing import Chart
from simulrag.report.figures import (
    boundary_figure,
    boundary_text,
    budget_figure,
    centrality_figure,
    centrality_text,
    cost_figure,
    figure_text,
    precision_recall_figure,
)
from simulrag.report.people import agreement_view, people_view
from simulrag.report.tables import (
    TableView,
    answer_view,
    boundary_view,
    claim_view,
    comparison_view,
    gain_view,
)

_LEADING = "auroc"

Published = Mapping[int, pl.DataFrame]
"""The paper's tables by number (``published.PAPER_METRICS`` and ``PAPER_STATISTICS``)."""


@dataclass(frozen=True)
class Choice:
    """What a reader may choose (``of``), and the name of one alternative."""

    of: str
    name: str


@dataclass(frozen=True)
class Picture:
    """A figure: its file name, its caption, and what it shows in words.

    Pictures of one ``kind`` are alternatives, told apart by ``choice``; ``leading`` is shown first.
    """

    name: str
    kind: str
    caption: str
    text: str
    chart: Chart
    choice: Choice | None = None
    leading: bool = True


def domain_figures(tables: Tables, domain: str) -> Iterator[Picture]:
    """Every figure of a domain, those of one kind after each other."""
    yield from _by_metric(tables, domain)
    settings = tables.settings
    for budget in settings.budgets_percent:
        leading = budget == settings.headline_budget
        yield Picture(
            f"{domain}-precision-recall" + ("" if leading else f"-{budget}"),
            "precision-recall",
            f"Precision against recall with {budget} % of the claims verified. Dotted: none and "
            "all.",
            f"Precision against recall at {budget} %, {domain}; AUPR in the table sums it up.",
            precision_recall_figure(tables, domain, budget),
            Choice("Budget", f"{budget} %"),
            leading,
        )
    yield Picture(
        f"{domain}-boundary",
        "boundary",
        "Simulator boundary assessment: what it filters, and what verification makes of either "
        "side. Lines: 95 % intervals.",
        boundary_text(tables, domain),
        boundary_figure(tables, domain),
    )
    yield Picture(
        f"{domain}-reliability",
        "reliability",
        RELIABILITY_CAPTION,
        reliability_text(tables, domain),
        reliability_figure(tables, domain),
    )


def _by_metric(tables: Tables, domain: str) -> Iterator[Picture]:
    """A metric against the budget, against the calls, and by centrality."""
    for metric, title in FIGURE_METRICS.items():
        yield Picture(
            f"{domain}-{metric}-budget",
            "budget",
            f"{title} against the share of claims verified. Bars: 95 % intervals. Dotted: none "
            "and all verified.",
            figure_text(tables, domain, metric),
            budget_figure(tables, domain, metric),
            Choice("Metric", title),
            metric == _LEADING,
        )
    for metric, title in FIGURE_METRICS.items():
        yield Picture(
            f"{domain}-{metric}-cost",
            "cost",
            f"{title} against the model calls that each method would make alone, a point a budget.",
            f"{title} against model calls a question, {domain}; the table of costs has the "
            "numbers.",
            cost_figure(tables, domain, metric),
            Choice("Metric", title),
            metric == _LEADING,
        )
    if len(tables.settings.centralities) < 2:
        return
    for metric, title in FIGURE_METRICS.items():
        yield Picture(
            f"{domain}-{metric}-centrality",
            "centrality",
            f"{title} of {OURS} by the centrality that scores confidence.",
            centrality_text(tables, domain, metric),
            centrality_figure(tables, domain, metric),
            Choice("Metric", title),
            metric == _LEADING,
        )


def domain_tables(
    tables: Tables, domain: str, published: Published, like: Replayed
) -> dict[str, dict[str, TableView]]:
    """The tables by section and name; those under "" lead, the others are details."""
    settings = tables.settings
    other = next(name for name in UNDECIDED if name != settings.undecided)
    beside = {
        f"table{number}": published_view(tables, domain, published[number], like, number)
        for number in PAPER_METRICS
        if number in published
    }
    sections: dict[str, dict[str, TableView | None]] = {
        "": {
            "claims": claim_view(tables, domain, settings.centrality, settings.undecided),
            "answers": answer_view(tables, domain),
        },
        "Published numbers beside ours": beside,
        "Paired differences": {
            "comparisons": comparison_view(tables, domain),
            "gains": gain_view(tables, domain),
        },
        "Other treatments of the same claims": {
            f"claims-undecided-{other}": claim_view(tables, domain, settings.centrality, other),
            **{
                f"claims-{centrality}": claim_view(tables, domain, centrality, settings.undecided)
                for centrality in settings.centralities[1:]
            },
        },
        "Final answers, failures as zero": {
            "answers-failures-zero": answer_view(tables, domain, "zero")
        },
        "Simulator boundary": {"boundary": boundary_view(tables, domain)},
        "Calibration": {
            "calibration": calibration_view(tables, domain),
            "conformal": conformal_view(tables, domain),
        },
        "Retrieval": {"retrieval": retrieval_view(tables, domain)},
        "Benchmark": {"benchmark": benchmark_view(tables, domain, published.get(PAPER_STATISTICS))},
        "Human labels": {
            "agreement": agreement_view(tables, domain),
            "disagreements": people_view(tables, domain),
        },
        "Cost": {
            "method-cost": method_cost_view(tables, domain),
            "cost": cost_view(tables, domain),
            "spending": spending_view(tables, domain),
        },
    }
    return {
        section: {name: view for name, view in of_section.items() if view is not None}
        for section, of_section in sections.items()
    }
