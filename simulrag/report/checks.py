"""The benchmark and the retrieval interface in the report."""

from __future__ import annotations

import polars as pl

from simulrag.metrics.published import published_field
from simulrag.metrics.tables import Tables
from simulrag.report.findings import interval
from simulrag.report.tables import TableView, why

_STATISTICS = {
    "answer_words": "words of the reference answer",
    "claims": "claims of the reference",
    "quantitative_claims": "quantitative claims",
    "qualitative_claims": "qualitative claims",
    "tool_parameters": "parameters of the tool calls",
}
_RETRIEVAL = {
    "tool": "the known tools",
    "call": "the known calls, every argument",
    "arguments": "arguments, of those that differ between questions",
    "failed": "no calls that could be run",
    "not_applicable": "no tool seen to apply",
    "second_attempt": "a second attempt",
}


def benchmark_view(tables: Tables, domain: str, published: pl.DataFrame | None) -> TableView | None:
    """Means of the benchmark's questions beside the published ones, where there are any."""
    frame = tables.benchmark.filter(pl.col("domain") == domain)
    if frame.is_empty():
        return None
    theirs: dict[str, float] = {}
    if published is not None:
        same = published.filter(pl.col("domain") == published_field(domain))
        theirs = same.row(0, named=True) if len(same) else {}
    rows = tuple(
        (
            _STATISTICS[row["metric"]],
            interval(row),
            f"{theirs[row['metric']]:g}" if theirs else "—",
            str(row["n"]),
        )
        for row in frame.iter_rows(named=True)
    )
    return TableView(
        caption=f"{domain}: the benchmark, means over its questions",
        columns=("Mean number of", "This run", "Published", "Questions"),
        rows=rows,
        headers=1,
        notes=(
            "Published: the paper's Table 2, over its own questions, claims and tools.",
            *_reasons(frame, _STATISTICS),
        ),
    )


def retrieval_view(tables: Tables, domain: str) -> TableView | None:
    """Tool-call accuracy and failures; None for tables without any question."""
    frame = tables.retrieval.filter(pl.col("domain") == domain)
    if frame.is_empty():
        return None
    rows = tuple(
        (
            f"{row['tool']}: {row['argument']}" if row["argument"] else _RETRIEVAL[row["metric"]],
            interval(row),
            str(row["n"]),
            "—" if row["coverage"] is None else f"{100 * row['coverage']:.1f} %",
        )
        for row in frame.iter_rows(named=True)
        if row["value"] is not None or not row["argument"]
    )
    return TableView(
        caption=f"{domain}: the tool calls made, against the scenario each question is known for",
        columns=("Share with", "Value", "Counted", "Coverage"),
        rows=rows,
        headers=1,
        notes=(
            "Where a share is 0 or 1 resamples have no spread; by the rule of three up to 3 in the "
            "number of questions may still be otherwise.",
            *_reasons(frame.filter(pl.col("argument") == ""), _RETRIEVAL),
        ),
    )


def _reasons(frame: pl.DataFrame, titles: dict[str, str]) -> tuple[str, ...]:
    rows = frame.filter(pl.col("reason") != "").select("metric", "reason").iter_rows()
    return why((titles[metric], None, reason) for metric, reason in rows)
