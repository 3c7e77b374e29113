"""The table at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Table

from simulrag.metrics.claim_level import BUDGETED, OURS
from simulrag.metrics.tables import Tables

_SHOWN = (("f1", "F1"), ("aupr", "AUPR"), ("auroc", "AUROC"), ("true_share", "true\nclaims"))


def terminal_table(tables: Tables) -> Table:
    """Claim-level metrics by method and budget, the leading variant; a dash where undefined."""
    settings = tables.settings
    table = Table(
        box=SIMPLE_HEAD,
        title="Claims after verification, by method and budget",
        caption="\n".join(
            (
                f"confidence: {settings.centrality}; undecided claims: {settings.undecided}; "
                "95 % intervals are in the report",
                *_undefined(tables),
            )
        ),
    )
    table.add_column("domain", overflow="fold")
    table.add_column("method", no_wrap=True, min_width=11)
    for name in ("budget", *(title for _, title in _SHOWN), "coverage"):
        table.add_column(name, justify="right")
    frame = tables.claim_level.filter(
        (pl.col("centrality") == settings.centrality) & (pl.col("undecided") == settings.undecided)
    )
    for domain in tables.domains:
        of_domain = frame.filter(pl.col("domain") == domain)
        budgets = [
            ("no-RAG", 0),
            *((method, budget) for budget in settings.budgets_percent for method in BUDGETED),
            ("all-RAG", 100),
        ]
        for method, budget in budgets:
            rows = of_domain.filter(
                (pl.col("method") == method) & (pl.col("budget_percent") == budget)
            )
            values = dict(zip(rows["metric"], rows["value"], strict=True))
            cells = ["—" if values[key] is None else f"{values[key]:.3f}" for key, _ in _SHOWN]
            coverage = rows["coverage"][0]
            table.add_row(
                domain,
                method,
                f"{budget} %",
                *cells,
                "—" if coverage is None else f"{coverage:.0%}",
                style="bold" if method == OURS else "",
                end_section=method in (OURS, "no-RAG", "all-RAG"),
            )
    return table


def _undefined(tables: Tables) -> Iterator[str]:
    """Why there are dashes: a line a domain and reason."""
    settings = tables.settings
    shown = tables.claim_level.filter(
        (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("metric").is_in([name for name, _ in _SHOWN])
        & pl.col("method").is_in(["no-RAG", *BUDGETED, "all-RAG"])
        & pl.col("value").is_null()
    )
    for domain, reason in shown.select("domain", "reason").unique(maintain_order=True).iter_rows():
        yield f"—, {domain}: {reason}"
