"""The report's tables of cost."""

from __future__ import annotations

import polars as pl

from simulrag.metrics.tables import Tables
from simulrag.report.tables import TableView

COUNTS = {
    "calls": "Calls",
    "input_tokens": "Input tokens",
    "cached_input_tokens": "Cached input tokens",
    "cache_write_tokens": "Cache writes",
    "output_tokens": "Output tokens",
}


def cost_view(tables: Tables, domain: str) -> TableView:
    """Calls and tokens a question by step, and simulator runs."""
    frame = tables.cost.filter(pl.col("domain") == domain)
    names = tuple(COUNTS)
    rows: list[tuple[str, ...]] = []
    for step in frame["step"].unique(maintain_order=True):
        cells = frame.filter(pl.col("step") == step)
        by_metric = {row["metric"]: row["per_question"] for row in cells.iter_rows(named=True)}
        if step != "simulator":
            rows.append((step, *(_mean(by_metric[name]) for name in names)))
    runs = frame.filter(pl.col("step") == "simulator")["per_question"].to_list()
    return TableView(
        caption=f"{domain}: cost a question, paid for now or before",
        columns=("Step", *COUNTS.values()),
        rows=tuple(rows),
        headers=1,
        strong=(len(rows) - 1,) if rows else (),
        notes=tuple(f"Simulator runs a question: {_mean(value)}." for value in runs),
    )


def method_cost_view(tables: Tables, domain: str) -> TableView:
    """What each method x budget, and each final answer, would cost alone."""
    frame = tables.method_cost.filter((pl.col("domain") == domain) & (pl.col("step") == "all"))
    rows = tuple(
        (
            row["method"],
            f"{row['budget_percent']} %" if row["level"] == "claim" else f"m = {row['samples']}",
            *(
                _mean(row[f"{name}_per_question"])
                for name in ("calls", "input_tokens", "output_tokens", "simulator_runs")
            ),
        )
        for row in frame.iter_rows(named=True)
    )
    return TableView(
        caption=f"{domain}: cost a question of each method by itself",
        columns=(
            *("Method", "Budget or m", "Calls", "Input tokens", "Output tokens"),
            "Simulator runs",
        ),
        rows=rows,
        notes=(
            "Lines with a budget select claims and write one answer; lines with m are final "
            "answers. data/metrics/method_cost.csv has every step.",
        ),
    )


def spending_view(tables: Tables, domain: str) -> TableView | None:
    """Calls, tokens and money by stage and model; None where the calls are not at hand."""
    frame = tables.spending.filter(pl.col("domain") == domain)
    if frame.is_empty():
        return None
    rows = [
        (
            str(row["stage"]),
            str(row["model"]),
            *(f"{row[name]:,}" for name in COUNTS),
            "no price" if row["usd"] is None else f"{row['usd']:,.4f}",
        )
        for row in frame.iter_rows(named=True)
    ]
    dates = sorted(set(frame["price_as_of"].drop_nulls()))
    notes = [f"Prices as of {', '.join(dates)} (prices.yaml)."] if dates else []
    if frame["usd"].null_count():
        notes.append("No price: prices.yaml has no line for the model; one's own server is free.")
    return TableView(
        caption=f"{domain}: the whole run by stage and model, paid for now or before",
        columns=("Stage", "Model", *COUNTS.values(), "US dollars"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _mean(value: float | None) -> str:
    return "—" if value is None else f"{value:,.1f}"
