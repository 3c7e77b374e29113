"""What the tables say, in sentences that state an interval and claim no more than it allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from simulrag.metrics.claim_level import OURS
from simulrag.metrics.tables import Tables

_METRIC = "auroc"
_METRIC_NAME = "AUROC"


def findings(tables: Tables) -> tuple[str, ...]:
    """Two sentences a domain: claim level at the middle budget, and answer level."""
    return tuple(
        sentence
        for domain in tables.domains
        for sentence in (*_claim_level(tables, domain), *_answer_level(tables, domain))
    )


def _claim_level(tables: Tables, domain: str) -> Iterator[str]:
    settings = tables.settings
    budget = settings.headline_budget
    rows = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("budget_percent") == budget)
        & (pl.col("metric") == _METRIC)
        & (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
    )
    ours = rows.row(by_predicate=pl.col("method") == OURS, named=True)
    start = f"{_title(domain)}, claims, {budget} % of them verified: "
    if ours["value"] is None:
        yield f"{start}the {_METRIC_NAME} of {OURS} is not known ({ours['reason']})."
        return
    gaps = tables.comparisons.filter(
        (pl.col("domain") == domain)
        & (pl.col("level") == "claim")
        & (pl.col("budget_percent") == budget)
        & (pl.col("metric") == _METRIC)
        & (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("difference").is_not_null()
    ).sort("difference")
    sentence = f"{start}{OURS} has an {_METRIC_NAME} of {interval(ours)}"
    if gaps.is_empty():
        yield f"{sentence}; no baseline could be measured."
        return
    gap = gaps.row(0, named=True)
    yield f"{sentence}; against the best baseline, {gap['baseline']}, that is {_difference(gap)}."


def _answer_level(tables: Tables, domain: str) -> Iterator[str]:
    chosen = (
        (pl.col("domain") == domain)
        & (pl.col("undecided") == tables.settings.undecided)
        & (pl.col("metric") == "factuality")
    )
    lines = tables.answer_level.filter(
        chosen & (pl.col("failures") == "excluded") & (pl.col("method") == "SimulRAG")
    ).sort("samples", descending=True)
    for row in lines.head(1).iter_rows(named=True):
        start = f"{_title(domain)}, final answers: "
        if row["value"] is None:
            yield f"{start}the share of true claims is not known ({row['reason']})."
            continue
        sentence = f"{start}{interval(row)} of SimulRAG's claims are true"
        gaps = tables.comparisons.filter(
            chosen
            & (pl.col("level") == "answer")
            & (pl.col("samples") == row["samples"])
            & pl.col("difference").is_not_null()
        ).sort("difference", maintain_order=True)
        if gaps.is_empty():
            yield f"{sentence}; no baseline could be measured."
            continue
        gap = gaps.row(0, named=True)
        best = f"{gap['baseline']} at m = {gap['baseline_samples']}"
        yield f"{sentence}; against the best baseline, {best}, that is {_difference(gap)}."


def interval(row: Mapping[str, Any], key: str = "value") -> str:
    """ "0.712 [0.650, 0.771]", the value alone without an interval, a dash without a value."""
    value, lower, upper = row[key], row["lower_95"], row["upper_95"]
    if value is None:
        return "—"
    if lower is None or upper is None:
        return f"{value:.3f}"
    return f"{value:.3f} [{lower:.3f}, {upper:.3f}]"


def _difference(gap: Mapping[str, Any]) -> str:
    value, lower, upper = gap["difference"], gap["lower_95"], gap["upper_95"]
    text = f"a difference of {value:+.3f}"
    if lower is None or upper is None:
        return f"{text}, without an interval"
    text += f" [{lower:+.3f}, {upper:+.3f}]"
    if lower > 0 or upper < 0:
        return text
    return f"{text}: the interval holds 0, so neither is shown to be better"


def _title(domain: str) -> str:
    return domain[:1].upper() + domain[1:]
