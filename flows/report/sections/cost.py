"""Calls, tokens and money: of each method by itself, by step, and of the whole run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

from flows.report.blocks import (
    DASH,
    Block,
    Columns,
    ReportSection,
    Table,
    TableWords,
    budget,
    kappas,
    pivoted,
)
from flows.report.run import DomainTable, ReportedRun
from flows.report.sections.claims import by_calls
from flows.report.words import method_name
from simulrag.metrics.methods import OURS, UE_SBA
from simulrag.metrics.table import ESTIMATED, Measurement

COUNTS = {
    "calls": "Calls",
    "input_tokens": "Input tokens",
    "cached_input_tokens": "Cached input tokens",
    "cache_write_tokens": "Cache writes",
    "output_tokens": "Output tokens",
    "simulator_runs": "Simulator runs",
    "usd": "US dollars",
}
_ALL = "all"


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show what each method buys with its calls; the tables are folded."""
    for domain in run.domains:
        if domain.rows("method_cost"):
            yield from by_calls(run, domain)
    for family, table in (
        ("method_cost", _by_method),
        ("cost", _by_step),
        ("spending", _by_model),
    ):
        for domain in run.domains:
            rows = domain.rows(family)
            if rows:
                yield table(domain, rows)


def _by_method(domain: DomainTable, rows: Sequence[Measurement]) -> Table:
    return _pivoted(
        [row for row in rows if row.step == _ALL],
        {
            "Method": lambda row: method_name(row.method),
            "Budget": budget,
            **kappas(rows),
            "m": lambda row: DASH if row.samples is None else str(row.samples),
        },
        name="method-cost",
        caption="cost a question of each method by itself",
        domain=domain.name,
        headers=3,
        strong=(*OURS, UE_SBA),
        notes=(
            "Lines without m select claims and write one answer; lines with m are final answers. "
            f"data/metrics/{domain.name}.csv has every step.",
        ),
        fold="Each method by itself",
    )


def _by_step(domain: DomainTable, rows: Sequence[Measurement]) -> Table:
    return _pivoted(
        rows,
        {"Step": lambda row: row.step},
        name="cost",
        caption="cost a question by step, paid for now or before",
        domain=domain.name,
        headers=1,
        fold="Cost by step",
    )


def _by_model(domain: DomainTable, rows: Sequence[Measurement]) -> Table:
    dates = sorted({row.text("as_of") for row in rows} - {""})
    return _pivoted(
        rows,
        {"Stage": lambda row: row.text("stage"), "Model": lambda row: row.text("model")},
        name="spending",
        caption="the whole run by stage and model, paid for now or before",
        domain=domain.name,
        notes=(f"Prices as of {', '.join(dates)}.",) if dates else (),
        fold="Calls and money of the whole run",
    )


def _pivoted(rows: Sequence[Measurement], heads: Columns, **more: Unpack[TableWords]) -> Table:
    if any(row.metric.endswith(ESTIMATED) for row in rows):
        estimated = "Estimated: the characters of the stored messages and replies, by 4."
        more["notes"] = (*more.get("notes", ()), estimated)
    more["line"] = lambda row: COUNTS.get(row.metric, row.metric)
    return pivoted(rows, heads, _columns(rows), None, _cell, **more)


def _columns(rows: Sequence[Measurement]) -> dict[str, str]:
    """Return the metrics that the rows have, each estimate beside what could not be counted."""
    there = {row.metric for row in rows}
    columns = {}
    for metric, title in COUNTS.items():
        if metric in there:
            columns[metric] = title
        if metric + ESTIMATED in there:
            columns[metric + ESTIMATED] = f"{title}, estimated"
    return columns


def _cell(row: Measurement) -> str:
    if row.value is None:
        return DASH
    if row.metric == "usd":
        return f"{row.value:,.4f}"
    return f"{row.value:,.0f}" if row.family == "spending" else f"{row.value:,.1f}"


SECTION = ReportSection("cost", "Cost", blocks)
