"""The numbers in short: all by flat keys, and a line a domain for `dvc metrics show`."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from simulrag.metrics.claim_level import BUDGETED, OURS
from simulrag.metrics.settings import MetricSettings

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
    summary |= _calibrated(frames, settings)
    whole = frames["retrieval"].filter((pl.col("tool") == "") & (pl.col("argument") == ""))
    for row in whole.iter_rows(named=True):
        summary[f"{row['domain']}.retrieval.{row['metric']}"] = row["value"]
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


def _calibrated(frames: Mapping[str, pl.DataFrame], settings: MetricSettings) -> Summary:
    """Keys like ``urban.ece.ue_sba.25`` and ``urban.kappa.no_rag``."""
    found: Summary = {}
    for table, metric in (("calibration", "ece"), ("conformal", "kappa")):
        rows = frames[table].filter(
            (pl.col("undecided") == settings.undecided) & (pl.col("metric") == metric)
        )
        for row in rows.iter_rows(named=True):
            key = f"{row['domain']}.{metric}.{_SHORT[row['method']]}"
            if row["method"] == OURS:
                key += f".{row['budget_percent']}"
            found[key] = row["value"]
    return found


def headline(summary: Mapping[str, float | int | None], domain: str, budget: int) -> Summary:
    """A domain's line of `dvc metrics show`, few enough to read: UE+SBA at one budget.

    ``informativeness`` and ``factuality`` are SimulRAG's at its largest m, and the factuality of
    both RAG baselines at theirs stands beside them; ``kappa`` is the conformal threshold, ``ece``
    the expected calibration error, ``retrieval`` the share of questions that made the known calls
    (null where no tool is called), ``calls`` those a question.
    """
    found: Summary = {name: summary[f"{domain}.{name}"] for name in ("questions", "coverage")}
    for metric in _SHOWN:
        found[metric] = summary[f"{domain}.{metric}.ue_sba.{budget}"]
    found["auroc_uncertainty"] = summary[f"{domain}.auroc.uncertainty.{budget}"]
    found["informativeness"] = _at_largest_m(summary, f"{domain}.informativeness.simulrag")
    found["factuality"] = _at_largest_m(summary, f"{domain}.factuality.simulrag")
    for baseline in ("input_rag", "output_rag"):
        key = f"{domain}.factuality.{baseline}"
        found[f"factuality_{baseline}"] = _at_largest_m(summary, key)
    for metric in ("ece", "kappa"):
        found[metric] = summary[f"{domain}.{metric}.ue_sba.{budget}"]
    found["retrieval"] = summary.get(f"{domain}.retrieval.call")
    found["calls"] = summary[f"{domain}.calls_per_question"]
    return found


def _at_largest_m(summary: Mapping[str, float | int | None], key: str) -> float | int | None:
    """The value of ``KEY.m5`` rather than that of ``KEY.m1``, None where there is neither."""
    lines = {
        int(name.removeprefix(f"{key}.m")): value
        for name, value in summary.items()
        if name.startswith(f"{key}.m")
    }
    return lines[max(lines)] if lines else None
