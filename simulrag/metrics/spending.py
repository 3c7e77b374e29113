"""What boundary assessment filtered, and what every step cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simulrag.metrics.intervals import estimate, ratio, scenario_weights
from simulrag.metrics.pool import PARTLY_VERIFIED, ClaimPool
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, Usage

Row = dict[str, object]


def boundary_shares(pool: ClaimPool, settings: MetricSettings) -> Iterator[Row]:
    """How well the simulator boundary foresees what verification can decide.

    ``filtered``: claims judged outside the boundary, of all claims asked. ``kept_decided``: claims
    inside it that verification decided, of those verified. ``filtered_decidable``: claims outside
    it that verification decided all the same: what the filter lost. The latter two are undefined
    where verification saw selected claims alone: the least confident do not stand for all.
    """
    weights = scenario_weights(pool.scenarios, settings.bootstrap, settings.seed, pool.domain)
    inside = np.array([claim.boundary is True for claim in pool.claims], dtype=bool)
    asked = np.array([claim.boundary is not None for claim in pool.claims], dtype=bool)
    verified = np.array(
        [claim.verdict is not None and claim.verdict.status != "error" for claim in pool.claims],
        dtype=bool,
    )
    outside = asked & ~inside
    no_inside, no_outside = "no claim inside was verified", "no claim outside was verified"
    if pool.partly_verified:
        verified[:] = False
        no_inside = no_outside = PARTLY_VERIFIED
    shares: list[tuple[str, NDArray[np.bool_], NDArray[np.bool_], str]] = [
        ("filtered", outside, asked, "the simulator boundary was not asked"),
        ("kept_decided", pool.decided, inside & verified, no_inside),
        ("filtered_decidable", pool.decided, outside & verified, no_outside),
    ]
    for name, part, whole, reason in shares:
        values = ratio((part & whole).astype(float), whole.astype(float), pool.scenario, weights)
        result = estimate(values, pool.scenarios, reason)
        yield {
            "domain": pool.domain,
            "metric": name,
            "value": result.value,
            "lower_95": result.lower_95,
            "upper_95": result.upper_95,
            "n": int(whole.sum()),
            "reason": result.reason,
        }


def costs(domain: str, answers: Sequence[Answer]) -> Iterator[Row]:
    """Calls and tokens by step, simulator runs: the total and the mean of all questions.

    Calls count whether they were paid for now or came from the cache; failed questions cost too.
    """
    steps: dict[str, Usage] = {}
    for answer in answers:
        for step, usage in answer.usage.items():
            steps[step] = steps.get(step, Usage()) + usage
    for step, usage in [*sorted(steps.items()), ("all", sum(steps.values(), Usage()))]:
        for metric in Usage.model_fields:
            yield _cost(domain, step, metric, getattr(usage, metric), len(answers))
    runs = sum(answer.simulator_runs for answer in answers)
    yield _cost(domain, "simulator", "runs", runs, len(answers))


def _cost(domain: str, step: str, metric: str, total: int, questions: int) -> Row:
    return {
        "domain": domain,
        "step": step,
        "metric": metric,
        "total": total,
        "per_question": total / questions if questions else None,
        "n": questions,
    }
