"""What the report shows of one domain: its figures and tables, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from simulrag.evaluation.claim_level import BUDGETED, OURS
from simulrag.evaluation.cost_tables import cost_view, method_cost_view, spending_view
from simulrag.evaluation.figures import (
    budget_figure,
    centrality_figure,
    cost_figure,
    figure_text,
    precision_recall_figure,
)
from simulrag.evaluation.names import FIGURE_METRICS
from simulrag.evaluation.published import (
    PAPER_METRICS,
    PAPER_STATISTICS,
    Replayed,
    published_view,
)
from simulrag.evaluation.report_calibration import (
    RELIABILITY_CAPTION,
    calibration_view,
    conformal_view,
    reliability_figure,
    reliability_text,
)
from simulrag.evaluation.report_checks import benchmark_view, retrieval_view
from simulrag.evaluation.report_people import agreement_view, people_view
from simulrag.evaluation.report_tables import (
    TableView,
    answer_view,
    boundary_view,
    claim_view,
    comparison_view,
    gain_view,
)
from simulrag.evaluation.settings import UNDECIDED
from simulrag.evaluation.tables import Tables

_LEADING = "auroc"

Published = Mapping[int, pl.DataFrame]
"""The paper's tables by number (``published.PAPER_METRICS`` and ``PAPER_STATISTICS``)."""


@dataclass(frozen=True)
class Picture:
    """A figure: its file name, its caption, and what it shows in words."""

    name: str
    caption: str
    text: str
    figure: Figure


def domain_figures(tables: Tables, domain: str) -> Iterator[Picture]:
    """Metrics against the budget and against the calls, and the centralities beside each other."""
    for metric, title in FIGURE_METRICS.items():
        yield Picture(
            f"{domain}-{metric}-budget",
            f"{title} against the share of claims verified. Bars: 95 % intervals. Dotted: none "
            "and all verified.",
            figure_text(tables, domain, metric),
            budget_figure(tables, domain, metric),
        )
    title = FIGURE_METRICS[_LEADING]
    budget = tables.settings.headline_budget
    yield Picture(
        f"{domain}-precision-recall",
        f"Precision against recall with {budget} % of the claims verified. Dotted: none and all.",
        f"Precision against recall at {budget} %, {domain}; AUPR in the table sums it up.",
        precision_recall_figure(tables, domain),
    )
    yield Picture(
        f"{domain}-{_LEADING}-cost",
        f"{title} against the model calls that each method would make alone, a point a budget.",
        f"{title} against model calls a question, {domain}; the table of costs has the numbers.",
        cost_figure(tables, domain, _LEADING),
    )
    if len(tables.settings.centralities) > 1:
        yield Picture(
            f"{domain}-{_LEADING}-centrality",
            f"{title} of {OURS} by the centrality that scores confidence.",
            _centralities(tables, domain),
            centrality_figure(tables, domain, _LEADING),
        )
    yield Picture(
        f"{domain}-reliability",
        RELIABILITY_CAPTION,
        reliability_text(tables, domain),
        reliability_figure(tables, domain),
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


def _centralities(tables: Tables, domain: str) -> str:
    settings = tables.settings
    rows = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == _LEADING)
        & (pl.col("method") == BUDGETED[-1])
        & (pl.col("undecided") == settings.undecided)
        & (pl.col("budget_percent") == settings.headline_budget)
    )
    shown = (
        f"{row['centrality'].replace('_', ' ')} "
        + ("undefined" if row["value"] is None else f"{row['value']:.3f}")
        for row in rows.iter_rows(named=True)
    )
    title = FIGURE_METRICS[_LEADING]
    return f"{title} of {OURS} at {settings.headline_budget} %, {domain}: {', '.join(shown)}."
