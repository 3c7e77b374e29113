"""Two evaluations on different questions: did a metric move by more than chance allows.

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

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families.answers import final_answer_values
from simulrag.metrics.intervals import Floats, estimate, holm, two_sided_p
from simulrag.metrics.methods import UE_SBA
from simulrag.metrics.ranking import measure
from simulrag.metrics.selections import plans_of, ranked_claims
from simulrag.records import Record

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
    """Resamples that resolve ``alpha`` after Holm's correction over all tests, ten times over."""
    return max(least, ceil(20 * domains * len(METRICS) / alpha))


def sample(data: DomainData, *, resamples: int, stream: str) -> Sample:
    """UE+SBA at the headline budget, where claims are ranked, and the final answers.

    ``stream`` tells the draws of two sides apart: with one name for both they would be paired.
    """
    settings = data.settings
    weights = data.resampled(resamples, stream)
    values: dict[str, Floats] = {}
    for setting in plans_of(data)[settings.centrality]:
        headline = (setting.method, setting.budget_percent) == (UE_SBA, settings.headline_budget)
        if not headline or setting.reason:
            continue
        found = measure(ranked_claims(data, setting, settings.undecided), weights)
        values = {name: found[name] for name in CLAIM_LEVEL}
    finals = final_answer_values(data, weights, settings.undecided)
    return Sample(data.scenarios, values | {name: finals[name] for name in ANSWER_LEVEL})


def compare(
    before: Mapping[str, Sample], after: Mapping[str, Sample], alpha: float
) -> list[Change]:
    """Every metric of the domains that both sides have; Holm's correction runs over all of them.

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
