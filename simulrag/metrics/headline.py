"""A domain's numbers in short: a line of `dvc metrics show`, few enough to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulrag.metrics.methods import GROUNDED, SIMULRAG, UE_SBA, UNCERTAINTY
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import only, select

if TYPE_CHECKING:
    import polars as pl

Headline = dict[str, float | int | None]


def headline(table: pl.DataFrame, settings: MetricSettings) -> Headline:
    """The leading variant of a domain's long table, UE+SBA at the middle budget.

    ``informativeness`` and ``factuality`` are those of the run's own answers: grounded's, or
    SimulRAG's at its largest m and budget, and at its smaller budgets with ``_at_25`` and the like,
    with kappa. ``factuality_paper`` is SimulRAG's where it stands beside grounded. The factuality
    of both RAG baselines stands beside them.
    ``kappa`` is the conformal threshold, ``ece`` the expected calibration error, ``retrieval`` the
    share of questions that made the known calls (None where no tool is called), ``calls`` those a
    question.
    """
    coverage = select(table, family="coverage", metric="questions")
    (count,), (share,) = coverage["value"].to_list(), coverage["coverage"].to_list()
    found: Headline = {"questions": int(count), "coverage": share}
    budget, treated = settings.headline_budget, settings.undecided
    claims = select(
        table,
        family="claims",
        budget_percent=budget,
        centrality=settings.centrality,
        undecided=treated,
    )
    for metric in ("f1", "aupr", "auroc"):
        found[metric] = only(claims, method=UE_SBA, metric=metric)
    found["auroc_uncertainty"] = only(claims, method=UNCERTAINTY, metric="auroc")
    answers = select(table, family="answers", undecided=treated, failures="excluded")
    found |= _final_answers(answers)
    checked = select(table, method=UE_SBA, budget_percent=budget, undecided=treated)
    found["ece"] = only(checked, family="calibration", metric="ece")
    found["kappa"] = only(checked, family="conformal", metric="kappa")
    found["retrieval"] = only(table, family="retrieval", metric="call")
    found["calls"] = only(table, family="cost", step="all", metric="calls")
    return found


def _final_answers(answers: pl.DataFrame) -> Headline:
    found: Headline = {}
    grounded = bool(_largest_m(answers, GROUNDED, "factuality"))
    for metric in ("informativeness", "factuality"):
        lines = _largest_m(answers, GROUNDED if grounded else SIMULRAG, metric)
        for place, (budget, value) in enumerate(lines):
            found[f"{metric}_at_{budget:g}" if place else metric] = value
    if grounded:
        for place, (budget, value) in enumerate(_largest_m(answers, SIMULRAG, "factuality")):
            found[f"factuality_paper_at_{budget:g}" if place else "factuality_paper"] = value
    for method in ("input_rag", "output_rag"):
        lines = _largest_m(answers, method, "factuality")
        found[f"factuality_{method}"] = lines[0][1] if lines else None
    return found


def _largest_m(answers: pl.DataFrame, method: str, metric: str) -> list[tuple[float, float | None]]:
    """Budget and value of a method's lines at its largest m, the largest budget first."""
    lines = select(answers, method=method, metric=metric)
    lines = lines.filter(lines["samples"].eq_missing(lines["samples"].max()))
    if not (lines["kappa"].fill_null(1) == 0).all():  # what was written without kappa too
        lines = lines.filter(lines["kappa"].fill_null(1) != 0)
    pairs = zip(lines["budget_percent"].to_list(), lines["value"].to_list(), strict=True)
    return sorted(((b or 0.0, value) for b, value in pairs), key=lambda pair: -pair[0])
