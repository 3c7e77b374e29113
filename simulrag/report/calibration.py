"""Calibration in the report: the reliability figure, its errors, and conformal kappa."""

from __future__ import annotations

import polars as pl

from simulrag.metrics.checked import AFTER_ALL, BEFORE, STATED
from simulrag.metrics.claim_level import OURS
from simulrag.metrics.tables import Tables
from simulrag.report.drawing import Chart, Point, Style, chart
from simulrag.report.figures import STYLES
from simulrag.report.findings import interval
from simulrag.report.tables import TableView, why

RELIABILITY_CAPTION = (
    "Share of true claims against confidence, in ten bins. Bars: 95 % intervals. Dotted: a "
    "confidence that means what it says."
)
_EMPTY = "undefined: the notes of the\ncalibration table say why"
_CONFORMAL = {
    "kappa": "Kappa",
    "held_out_precision": "Held-out precision",
    "held_out_precision_pooled": "Pooled over claims",
    "held_out_kept": "Claims kept",
    "held_out_questions": "Questions that keep any",
}


def _curves(tables: Tables) -> dict[tuple[str, int], tuple[str, Style]]:
    """The curves of the figure, each with its name and style."""
    budget = tables.settings.headline_budget
    return {
        (BEFORE, 0): ("before", STYLES["Uncertainty"]),
        (STATED, 0): ("stated by the model", STYLES["Verbalized"]),
        (OURS, budget): (f"{OURS}, {budget} %", STYLES[OURS]),
        (AFTER_ALL, 100): ("all verified", STYLES["Random"]),
    }


def _reliability(tables: Tables, domain: str, method: str, budget: int) -> pl.DataFrame:
    return tables.calibration.filter(
        (pl.col("domain") == domain)
        & (pl.col("method") == method)
        & (pl.col("budget_percent") == budget)
        & (pl.col("undecided") == tables.settings.undecided)
        & (pl.col("metric") == "reliability")
        & pl.col("value").is_not_null()
    ).sort("bin")


def reliability_figure(tables: Tables, domain: str) -> Chart:
    """Share of true claims against mean confidence by bin, a line a method."""
    with chart("confidence", "true claims", _EMPTY) as drawn:
        for (method, budget), (name, style) in _curves(tables).items():
            points = [
                Point(
                    row["confidence"],
                    row["value"],
                    f"{name}: {interval(row)} true at confidence {row['confidence']:.2f}, "
                    f"{row['n']} claims",
                    row["lower_95"],
                    row["upper_95"],
                )
                for row in _reliability(tables, domain, method, budget).iter_rows(named=True)
            ]
            drawn.line(name, points, style)
        drawn.dotted([Point(0, 0, ""), Point(1, 1, "")])
        drawn.axes.set_xlim(-0.03, 1.03)
        drawn.axes.set_ylim(-0.03, 1.03)
    return drawn


def reliability_text(tables: Tables, domain: str) -> str:
    """What the figure shows, in words."""
    parts = []
    for (method, budget), (name, _) in _curves(tables).items():
        rows = _reliability(tables, domain, method, budget)
        points = [
            f"{row['value']:.2f} true at {row['confidence']:.2f}"
            for row in rows.iter_rows(named=True)
        ]
        parts.append(f"{name}: {', '.join(points) or 'undefined'}")
    return f"Share of true claims against confidence, {domain}. " + "; ".join(parts)


def calibration_view(tables: Tables, domain: str) -> TableView:
    """The expected calibration error of each checked set."""
    frame = tables.calibration.filter(
        (pl.col("domain") == domain)
        & (pl.col("undecided") == tables.settings.undecided)
        & (pl.col("metric") == "ece")
    )
    rows = tuple(
        (
            row["method"],
            f"{row['budget_percent']} %",
            row["centrality"],
            interval(row),
            str(row["n"]),
        )
        for row in frame.iter_rows(named=True)
    )
    return TableView(
        caption=f"{domain}: expected calibration error, before and after verification",
        columns=("Method", "Verified", "Confidence", "Error", "Claims"),
        rows=rows,
        headers=3,
        strong=tuple(index for index, row in enumerate(rows) if row[0] == OURS),
        notes=(
            "The mean distance between a claim's confidence and the share of true claims in its "
            "bin, of ten. Chance keeps it above 0, more so with few claims.",
            *_reasons(frame),
        ),
    )


def conformal_view(tables: Tables, domain: str) -> TableView:
    """Conformal kappa, and what it does on scenarios it was not calibrated on."""
    frame = tables.conformal.filter(
        (pl.col("domain") == domain) & (pl.col("undecided") == tables.settings.undecided)
    )
    rows = []
    for method, budget, confidence in (
        frame.select("method", "budget_percent", "centrality")
        .unique(maintain_order=True)
        .iter_rows()
    ):
        cells = frame.filter((pl.col("method") == method) & (pl.col("budget_percent") == budget))
        by_metric = {row["metric"]: row for row in cells.iter_rows(named=True)}
        rows.append(
            (
                *(method, f"{budget} %", confidence),
                *(interval(by_metric[name]) for name in _CONFORMAL),
                str(by_metric["kappa"]["n"]),
            )
        )
    goal = 1 - tables.settings.alpha
    return TableView(
        caption=f"{domain}: the threshold that keeps expected claim precision at {goal:g} or more",
        columns=("Method", "Verified", "Confidence", *_CONFORMAL.values(), "Scenarios"),
        rows=tuple(rows),
        headers=3,
        strong=tuple(index for index, row in enumerate(rows) if row[0] == OURS),
        notes=(
            "Conformal risk control over scenarios. Held-out precision is the guaranteed quantity: "
            "the mean over questions of the share of true claims among the kept, 1 where none is "
            "kept, at thresholds calibrated on other scenarios. It holds for scenarios that are "
            "exchangeable with these, on average over calibrations, and by these labels. "
            "Precision by keeping little is easy: read the columns beside it.",
            *_reasons(frame.filter(pl.col("metric") == "kappa")),
        ),
    )


def _reasons(frame: pl.DataFrame) -> tuple[str, ...]:
    rows = frame.filter(pl.col("reason") != "").select("method", "budget_percent", "reason")
    return why(rows.iter_rows())
