"""The report's tables as plain cells: wide enough to compare, narrow enough for a phone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from simulrag.metrics.answer_level import METHOD_NAMES
from simulrag.metrics.answer_level import METRICS as ANSWER_METRICS
from simulrag.metrics.answer_level import OURS as OUR_METHOD
from simulrag.metrics.claim_level import BUDGETED, OURS, VERBALIZED_BY_CENTRALITY
from simulrag.metrics.names import BOUNDARY_SHARES, FIGURE_METRICS
from simulrag.metrics.tables import Tables
from simulrag.report.findings import interval

SIMULRAG = METHOD_NAMES[OUR_METHOD]
CLAIM_COLUMNS = {
    "f1": "F1",
    "aupr": "AUPR",
    "auroc": "AUROC",
    "true_share": "True claims",
    "share_spent": "Spent",
}
ANSWER_COLUMNS = {
    "informativeness": "Informativeness",
    "factuality": "Factuality",
    "factuality_per_question": "Factuality, mean of questions",
}


@dataclass(frozen=True)
class TableView:
    """A table of the report. The first ``headers`` cells of a row are its row headers.

    ``strong``: indices of rows to set off. ``prose``: indices of columns that hold sentences.
    ``notes``: sentences below the table.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    headers: int = 2
    strong: tuple[int, ...] = ()
    prose: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def claim_view(tables: Tables, domain: str, centrality: str, undecided: str) -> TableView:
    """Claim-level metrics by budget and method, with 95 % intervals."""
    frame = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("centrality") == centrality)
        & (pl.col("undecided") == undecided)
    )
    rows: list[tuple[str, ...]] = []
    strong = []
    for budget, method in _lines(tables):
        cells = frame.filter((pl.col("budget_percent") == budget) & (pl.col("method") == method))
        by_metric = {row["metric"]: row for row in cells.iter_rows(named=True)}
        if method == OURS:
            strong.append(len(rows))
        values = (
            _percent(by_metric[name]["value"])
            if name in ("true_share", "share_spent")
            else interval(by_metric[name])
            for name in CLAIM_COLUMNS
        )
        count = by_metric["f1"]["n"]
        rows.append((f"{budget} %", method, *values, str(count)))
    reasons = frame.filter(pl.col("reason") != "").select("method", "budget_percent", "reason")
    return TableView(
        caption=f"{domain}: claims after verification; confidence by {centrality}; undecided "
        f"claims {'left out' if undecided == 'excluded' else 'counted as false'}",
        columns=("Budget", "Method", *CLAIM_COLUMNS.values(), "Claims"),
        rows=tuple(rows),
        strong=tuple(strong),
        notes=why(reasons.iter_rows()),
    )


def _lines(tables: Tables) -> Iterator[tuple[int, str]]:
    yield 0, "no-RAG"
    for budget in tables.settings.budgets_percent:
        for method in (*BUDGETED[:2], VERBALIZED_BY_CENTRALITY, *BUDGETED[2:]):
            yield budget, method
    yield 100, "all-RAG"


def comparison_view(tables: Tables, domain: str) -> TableView:
    """UE+SBA minus every baseline: paired differences and corrected p."""
    frame = tables.comparisons.filter(
        (pl.col("domain") == domain)
        & (pl.col("level") == "claim")
        & (pl.col("centrality") == tables.settings.centrality)
        & (pl.col("undecided") == tables.settings.undecided)
    )
    rows = tuple(
        (
            f"{row['budget_percent']} %",
            row["baseline"],
            FIGURE_METRICS[row["metric"]],
            interval(row, "difference"),
            _gain(row),
            _p(row["p"]),
            _p(row["p_holm"]),
        )
        for row in frame.sort("budget_percent", maintain_order=True).iter_rows(named=True)
    )
    return TableView(
        caption=f"{domain}: {OURS} minus each baseline, on the same resampled scenarios",
        columns=("Budget", "Baseline", "Metric", "Difference", "Gain, %", "p", "p, Holm"),
        rows=rows,
        headers=3,
        notes=(
            "Holm's correction runs over baselines and budgets of one metric.",
            *why(
                frame.filter(pl.col("reason") != "")
                .select("baseline", "budget_percent", "reason")
                .iter_rows()
            ),
        ),
    )


def answer_view(tables: Tables, domain: str, failures: str = "excluded") -> TableView:
    """Answer-level metrics by method and m, failed questions left out ("excluded") or as "zero"."""
    frame = tables.answer_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("undecided") == tables.settings.undecided)
        & (pl.col("failures") == failures)
    )
    rows: list[tuple[str, ...]] = []
    for method, samples in frame.select("method", "samples").unique(maintain_order=True).rows():
        cells = frame.filter((pl.col("method") == method) & (pl.col("samples") == samples))
        by_metric = {row["metric"]: row for row in cells.iter_rows(named=True)}
        first = by_metric[ANSWER_METRICS[0]]
        values = (interval(by_metric[name]) for name in ANSWER_COLUMNS)
        rows.append((method, str(samples), *values, str(first["n"]), _percent(first["coverage"])))
    reasons = frame.filter(pl.col("reason") != "").select("method", "reason")
    one_sample = [
        f"{SIMULRAG} at m = 1: every claim has the same confidence, so claims are not rankable; "
        "those verified were drawn from the ones that the simulator can check."
    ]
    return TableView(
        caption=f"{domain}: final answers; failed questions "
        + ("left out" if failures == "excluded" else "counted as zero"),
        columns=("Method", "m", *ANSWER_COLUMNS.values(), "Questions", "Coverage"),
        rows=tuple(rows),
        strong=tuple(index for index, row in enumerate(rows) if row[0] == SIMULRAG),
        notes=(
            "Informativeness: true claims a question, each counted once. Factuality: true claims "
            "by all claims, over all questions together. m: sampled answers behind a final one.",
            *(one_sample if (SIMULRAG, "1") in [row[:2] for row in rows] else ()),
            *why((method, None, reason) for method, reason in reasons.iter_rows()),
        ),
    )


def gain_view(tables: Tables, domain: str) -> TableView:
    """SimulRAG against every baseline on final answers: differences, gains and corrected p."""
    frame = tables.comparisons.filter(
        (pl.col("domain") == domain)
        & (pl.col("level") == "answer")
        & (pl.col("undecided") == tables.settings.undecided)
    )
    return TableView(
        caption=f"{domain}: {SIMULRAG}'s final answers minus each baseline's",
        columns=("m", "Baseline", "Its m", "Metric", "Difference", "Gain, %", "p", "p, Holm"),
        rows=tuple(
            (
                str(row["samples"]),
                row["baseline"],
                str(row["baseline_samples"]),
                ANSWER_COLUMNS[row["metric"]],
                interval(row, "difference"),
                _gain(row),
                _p(row["p"]),
                _p(row["p_holm"]),
            )
            for row in frame.iter_rows(named=True)
        ),
        headers=4,
        notes=(
            "Only questions that both completed. Holm's correction runs over the baselines of one "
            "metric.",
            *why(
                (f"{row['baseline']}, m = {row['baseline_samples']}", None, row["reason"])
                for row in frame.filter(pl.col("reason") != "").iter_rows(named=True)
            ),
        ),
    )


def boundary_view(tables: Tables, domain: str) -> TableView:
    """What boundary assessment filtered and what that lost."""
    frame = tables.boundary.filter(pl.col("domain") == domain)
    return TableView(
        caption=f"{domain}: simulator boundary assessment",
        columns=("Share of", "Value", "Claims"),
        rows=tuple(
            (BOUNDARY_SHARES[row["metric"]], interval(row), str(row["n"]))
            for row in frame.iter_rows(named=True)
        ),
        headers=1,
        notes=why(
            (BOUNDARY_SHARES[metric], None, reason)
            for metric, reason in frame.filter(pl.col("reason") != "")
            .select("metric", "reason")
            .iter_rows()
        ),
    )


def why(rows: Iterable[tuple[str, int | None, str]]) -> tuple[str, ...]:
    """A sentence a reason, after the lines it holds for: rows of method, budget and reason."""
    found: dict[str, dict[str, list[int]]] = {}
    for method, budget, reason in rows:
        budgets = found.setdefault(reason, {}).setdefault(method, [])
        if budget is not None and budget not in budgets:
            budgets.append(budget)
    return tuple(
        ", ".join(
            f"{method} ({', '.join(map(str, budgets))} %)" if budgets else method
            for method, budgets in methods.items()
        )
        + f": {reason}."
        for reason, methods in found.items()
    )


def _gain(row: Mapping[str, Any]) -> str:
    if row["gain_percent"] is None:
        return "—"
    text = f"{row['gain_percent']:+.1f}"
    if row["gain_lower_95"] is None:
        return text
    return f"{text} [{row['gain_lower_95']:+.1f}, {row['gain_upper_95']:+.1f}]"


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f} %"


def _p(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"
