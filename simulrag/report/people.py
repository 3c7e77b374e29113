"""Human labels in the report: how well people agree, and where the judge says otherwise."""

from __future__ import annotations

import polars as pl

from simulrag.metrics.tables import Tables
from simulrag.records import Label
from simulrag.report.findings import interval
from simulrag.report.tables import TableView, why

_MEASURES = {
    "agreement": "Equal labels",
    "cohen_kappa": "Cohen's kappa",
    "fleiss_kappa": "Fleiss' kappa",
}
_HOW = {
    "agreed": "all say so",
    "one annotator": "one annotator",
    "adjudicated": "adjudicated",
    "disputed": "disputed, not settled",
}


def people_labels(tables: Tables) -> list[Label]:
    """What people settled on, as the labels that the question browser shows."""
    return [
        Label.model_validate(
            {
                **{name: row[name] for name in ("question_id", "claim_hash", "text")},
                "label": row["human"],
                "reason": f"by people ({_HOW[row['how']]}): {row['said']}",
                "source": "human",
            }
        )
        for row in tables.human_labels.iter_rows(named=True)
    ]


def agreement_view(tables: Tables, domain: str) -> TableView | None:
    """Agreement among people and of the judge with them; None where nobody labelled."""
    frame = tables.agreement.filter(pl.col("domain") == domain)
    if frame.is_empty():
        return None
    rows = tuple(
        (row["between"], _MEASURES[row["metric"]], interval(row), str(row["n"]))
        for row in frame.iter_rows(named=True)
    )
    reasons = (
        frame.filter(pl.col("reason") != "").select("between", "reason").unique(maintain_order=True)
    )
    return TableView(
        caption=f"{domain}: agreement over true, false and undecided",
        columns=("Between", "Measure", "Value", "Claims"),
        rows=rows,
        notes=(
            "Kappa is agreement beyond what chance alone would give: 1 is perfect, 0 is chance. "
            "The claims that the judge left undecided are offered to people first, so the judge is "
            "shown with and without them.",
            *why((between, None, reason) for between, reason in reasons.iter_rows()),
        ),
    )


def people_view(tables: Tables, domain: str) -> TableView | None:
    """The claims on which people disagree, with each other or with the judge."""
    frame = tables.human_labels.filter(pl.col("domain") == domain)
    if frame.is_empty():
        return None
    differs = frame.filter(
        (pl.col("how") == "disputed")
        | ((pl.col("judge") != "") & (pl.col("judge") != pl.col("human")))
    )
    return TableView(
        caption=f"{domain}: {len(differs)} of {len(frame)} labelled claims with a disagreement",
        columns=("Question", "Claim", "People", "Settled", "Judge", "Said"),
        rows=tuple(
            (
                row["question_id"],
                row["text"],
                row["human"],
                _HOW[row["how"]],
                row["judge"] or "no label",
                row["said"],
            )
            for row in differs.iter_rows(named=True)
        ),
        prose=(1, 5),
        notes=("What people settled on takes the place of the judge's label in every metric.",),
    )
