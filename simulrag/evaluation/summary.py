"""The numbers in short: all by flat keys, and a line a domain for `dvc metrics show`."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from simulrag.evaluation.claim_level import BUDGETED
from simulrag.evaluation.settings import MetricSettings

Summary = dict[str, float | int | None]

_SHORT = {
    "Random": "random",
    "Verbalized": "verbalized",
    "Uncertainty": "uncertainty",
    "UE+SBA": "ue_sba",
    "no-RAG": "no_rag",
    "all-RAG": "all_rag",
    "SimulRAG": "simulrag",
    "Output-layer RAG": "output_rag",
    "Input-layer RAG": "input_rag",
    "Closed book": "closed_book",
}
_SHOWN = ("f1", "aupr", "auroc")


def summarise(frames: Mapping[str, pl.DataFrame], settings: MetricSettings) -> Summary:
    """Keys like ``urban.auroc.ue_sba.25`` and ``urban.factuality.simulrag.m5``, null where
    undefined, from the tables' leading variant.
    """
    summary: Summary = {}
    for row in frames["coverage"].iter_rows(named=True):
        for name in ("questions", "completed", "claims", "coverage"):
            summary[f"{row['domain']}.{name}"] = row[name]
    claims = frames["claim_level"].filter(
        (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("metric").is_in(list(_SHOWN))
        & pl.col("method").is_in(["no-RAG", *BUDGETED, "all-RAG"])
    )
    for row in claims.iter_rows(named=True):
        key = f"{row['domain']}.{row['metric']}.{_SHORT[row['method']]}"
        if row["method"] in BUDGETED:
            key += f".{row['budget_percent']}"
        summary[key] = row["value"]
    answers = frames["answer_level"].filter(
        (pl.col("undecided") == settings.undecided) & (pl.col("failures") == "excluded")
    )
    for row in answers.iter_rows(named=True):
        key = f"{row['domain']}.{row['metric']}.{_SHORT[row['method']]}.m{row['samples']}"
        summary[key] = row["value"]
    for row in frames["boundary"].iter_rows(named=True):
        summary[f"{row['domain']}.boundary.{row['metric']}"] = row["value"]
    for row in frames["cost"].iter_rows(named=True):
        if row["step"] in ("all", "simulator"):
            name = "simulator_runs" if row["step"] == "simulator" else row["metric"]
            summary[f"{row['domain']}.{name}_per_question"] = row["per_question"]
    for row in frames["spending"].iter_rows(named=True):
        key = f"{row['domain']}.usd"
        # None, as soon as one model has no price: a part of the bill is not the bill.
        before, more = summary.get(key, 0.0), row["usd"]
        summary[key] = None if before is None or more is None else round(before + more, 6)
    return dict(sorted(summary.items()))


def headline(summary: Mapping[str, float | int | None], domain: str, budget: int) -> Summary:
    """A domain's line of `dvc metrics show`, narrow enough for a terminal: UE+SBA at one budget.

    ``informativeness`` and ``factuality`` are SimulRAG's at its largest m; ``calls`` a question.
    """
    found: Summary = {name: summary[f"{domain}.{name}"] for name in ("questions", "coverage")}
    for metric in _SHOWN:
        found[metric] = summary[f"{domain}.{metric}.ue_sba.{budget}"]
    found["auroc_uncertainty"] = summary[f"{domain}.auroc.uncertainty.{budget}"]
    for metric in ("informativeness", "factuality"):
        lines = {
            int(key.rsplit(".m", 1)[1]): value
            for key, value in summary.items()
            if key.startswith(f"{domain}.{metric}.simulrag.m")
        }
        found[metric] = lines[max(lines)] if lines else None
    found["calls"] = summary[f"{domain}.calls_per_question"]
    return found
