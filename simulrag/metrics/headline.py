"""The few numbers that a domain is watched by, and whether they moved between two evaluations.

The numbers are a line of `dvc metrics show`, few enough to read.

**Drift.** Two evaluations on different questions: did a metric move by more than chance allows.

Each refresh draws new scenarios from the same sampler, so no question of one has a partner in the
other and the paired tests of the other tables do not apply. The scenarios of either side are
resampled by themselves, and a difference is that of two independent resamples: the two-sample
bootstrap (Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 8). Scenarios that
both sides happen to share make the two sides alike, so the test is then too careful, not too bold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families.answers import final_answer_values
from simulrag.metrics.intervals import Floats, estimate, holm, two_sided_p
from simulrag.metrics.methods import GROUNDED, SIMULRAG, UE_SBA, UNCERTAINTY
from simulrag.metrics.selections import measured_claims, plans_of
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import only, select
from simulrag.records import Record

if TYPE_CHECKING:
    import polars as pl

Headline = dict[str, float | int | None]


def headline(table: pl.DataFrame, settings: MetricSettings) -> Headline:
    """Pick the leading variant of a domain's long table, UE+SBA at the middle budget.

    ``informativeness`` and ``factuality`` are those of the run's own answers: grounded's, or
    SimulRAG's at its largest m and budget, and at its smaller budgets with ``_at_25`` and the like,
    with kappa. ``factuality_paper`` is SimulRAG's where it stands beside grounded. The factuality
    of both RAG baselines stands beside them.
    ``ece`` is the expected calibration error, ``retrieval`` the share of questions that made the
    known calls (None where no tool is called), ``calls`` those a question.
    """
    coverage = select(table, family="coverage", metric="questions")
    (count,), (share,) = coverage["value"].to_list(), coverage["coverage"].to_list()
    short: Headline = {"questions": int(count), "coverage": share}
    budget, treated = settings.headline_budget, settings.undecided
    claims = select(
        table,
        family="claims",
        budget_percent=budget,
        centrality=settings.centrality,
        undecided=treated,
    )
    for metric in ("f1", "aupr", "auroc"):
        short[metric] = only(claims, method=UE_SBA, metric=metric)
    short["auroc_uncertainty"] = only(claims, method=UNCERTAINTY, metric="auroc")
    answers = select(table, family="answers", undecided=treated, failures="excluded")
    short |= _final_answers(answers)
    checked = select(table, method=UE_SBA, budget_percent=budget, undecided=treated)
    short["ece"] = only(checked, family="calibration", metric="ece")
    short["retrieval"] = only(table, family="retrieval", metric="call")
    short["calls"] = only(table, family="cost", step="all", metric="calls")
    return short


def _final_answers(answers: pl.DataFrame) -> Headline:
    short: Headline = {}
    grounded = bool(_largest_m(answers, GROUNDED, "factuality"))
    for metric in ("informativeness", "factuality"):
        lines = _largest_m(answers, GROUNDED if grounded else SIMULRAG, metric)
        for place, (budget, value) in enumerate(lines):
            short[f"{metric}_at_{budget:g}" if place else metric] = value
    if grounded:
        for place, (budget, value) in enumerate(_largest_m(answers, SIMULRAG, "factuality")):
            short[f"factuality_paper_at_{budget:g}" if place else "factuality_paper"] = value
    for method in ("input_rag", "output_rag"):
        lines = _largest_m(answers, method, "factuality")
        short[f"factuality_{method}"] = lines[0][1] if lines else None
    return short


def _largest_m(answers: pl.DataFrame, method: str, metric: str) -> list[tuple[float, float | None]]:
    """Budget and value of a method's lines at its largest m, the largest budget first."""
    lines = select(answers, method=method, metric=metric)
    lines = lines.filter(lines["samples"].eq_missing(lines["samples"].max()))
    if not (lines["kappa"].fill_null(1) == 0).all():  # what was written without kappa too
        lines = lines.filter(lines["kappa"].fill_null(1) != 0)
    pairs = zip(lines["budget_percent"].to_list(), lines["value"].to_list(), strict=True)
    return sorted(((b or 0.0, value) for b, value in pairs), key=lambda pair: -pair[0])


CLAIM_LEVEL = ("f1", "aupr", "auroc")
ANSWER_LEVEL = ("informativeness", "factuality")
METRICS = (*CLAIM_LEVEL, *ANSWER_LEVEL)


@dataclass(frozen=True)
class Sample:
    """A side's metrics: the value itself, then one a resample; NaN where undefined."""

    scenarios: int
    values: Mapping[str, Floats]


class Change(Record):
    """One metric of one domain, after minus before; None where undefined, with the reason."""

    domain: str
    metric: str
    before: float | None
    after: float | None
    difference: float | None
    lower_95: float | None
    upper_95: float | None
    p: float | None
    p_holm: float | None
    drop: bool
    reason: str


def resamples_for(domains: int, alpha: float, least: int) -> int:
    """Count the resamples that resolve ``alpha`` after Holm's correction, ten times over.

    The correction runs over all tests.
    """
    return max(least, ceil(20 * domains * len(METRICS) / alpha))


def sample(data: DomainData, *, resamples: int, stream: str) -> Sample:
    """Measure UE+SBA at the headline budget, where claims are ranked, and the final answers.

    ``stream`` tells the draws of two sides apart: with one name for both they would be paired.
    """
    settings = data.settings
    weights = data.resampled(resamples, stream)
    values: dict[str, Floats] = {}
    for setting in plans_of(data)[settings.centrality]:
        headline = (setting.method, setting.budget_percent) == (UE_SBA, settings.headline_budget)
        if not headline or setting.reason:
            continue
        measured, _ = measured_claims(data, setting, settings.undecided, weights)
        values = {name: measured[name] for name in CLAIM_LEVEL}
    finals = final_answer_values(data, weights, settings.undecided)
    return Sample(data.scenarios, values | {name: finals[name] for name in ANSWER_LEVEL})


def compare(
    before: Mapping[str, Sample], after: Mapping[str, Sample], alpha: float
) -> list[Change]:
    """Compare every metric of the domains that both sides have, with Holm's correction over all.

    ``drop``: the value fell, and the two-sided p after correction is below ``alpha``.
    """
    pairs = [
        (domain, metric, before[domain], after[domain])
        for domain in after
        if domain in before
        for metric in METRICS
        if metric in before[domain].values and metric in after[domain].values
    ]
    gaps = [new.values[metric] - old.values[metric] for _, metric, old, new in pairs]
    raw = [
        two_sided_p(gap, fewer) if (fewer := min(old.scenarios, new.scenarios)) > 1 else None
        for gap, (_, _, old, new) in zip(gaps, pairs, strict=True)
    ]
    changes: list[Change] = []
    for (domain, metric, old, new), gap, p, adjusted in zip(
        pairs, gaps, raw, holm(raw), strict=True
    ):
        result = estimate(gap, min(old.scenarios, new.scenarios), "undefined for one of the two")
        fell = result.value is not None and result.value < 0
        changes.append(
            Change(
                domain=domain,
                metric=metric,
                before=estimate(old.values[metric], 1, "").value,
                after=estimate(new.values[metric], 1, "").value,
                difference=result.value,
                lower_95=result.lower_95,
                upper_95=result.upper_95,
                p=p,
                p_holm=adjusted,
                drop=fell and adjusted is not None and adjusted < alpha,
                reason=result.reason,
            )
        )
    return changes
