"""The few numbers that `dvc metrics show` prints: flat keys, null where undefined."""

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
    "Closed book": "closed_book",
}
_SHOWN = ("f1", "aupr", "auroc")


def summarise(frames: Mapping[str, pl.DataFrame], settings: MetricSettings) -> Summary:
    """Keys like ``urban.auroc.ue_sba.25`` from the tables' leading variant."""
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
        summary[f"{row['domain']}.{row['metric']}.{_SHORT[row['method']]}"] = row["value"]
    for row in frames["boundary"].iter_rows(named=True):
        summary[f"{row['domain']}.boundary.{row['metric']}"] = row["value"]
    for row in frames["cost"].iter_rows(named=True):
        if row["step"] in ("all", "simulator"):
            name = "simulator_runs" if row["step"] == "simulator" else row["metric"]
            summary[f"{row['domain']}.{name}_per_question"] = row["per_question"]
    return dict(sorted(summary.items()))
