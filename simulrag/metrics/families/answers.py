"""Answer-level metrics: how much a final answer says that is true, and how much of it is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from simulrag.metrics.comparing import Pair, compared
from simulrag.metrics.data import DomainData, FinalCounts, FinalLine
from simulrag.metrics.intervals import Floats, estimates
from simulrag.metrics.names import SIMULRAG
from simulrag.metrics.registry import metric
from simulrag.metrics.settings import TREATMENTS, Undecided
from simulrag.metrics.table import Measurement, filled

METRICS = ("informativeness", "factuality", "factuality_per_question")
FAILURES = ("excluded", "zero")

_NOT_POOLED = "undefined: a failed question adds no claims to the pooled share"


@metric("answers", "comparisons")
def answers(data: DomainData) -> Iterator[Measurement]:
    """Every line of final answers, and SimulRAG against every other method.

    A question counts where its answer, its decomposition and every label succeeded. The variant
    ``failures`` = "zero" counts the others too: no true claim in informativeness, a share of 0 in
    the mean of questions. The pooled factuality has no such variant, since a failure adds neither
    true nor false claims. Where no answer is complete every method failed on all questions.

    SimulRAG at its full m is compared with every baseline at every m, at m = 1 with those at m = 1,
    at each budget on the questions that both completed; Holm's correction runs over the baselines
    of one metric.
    """
    weights = data.weights[:, data.scenario]
    for undecided in TREATMENTS:
        for failures in FAILURES:
            for line in data.lines:
                yield from _rows(data, line, weights, undecided, failures)
        full = max((line.samples for line in data.lines if line.name == SIMULRAG), default=0)
        for line in data.lines:
            if line.name == SIMULRAG:
                yield from _compare(data, line, full, weights, undecided)


def final_answer_values(
    data: DomainData, weights: Floats, undecided: Undecided
) -> dict[str, Floats]:
    """SimulRAG's metrics at its largest m and budget for each resample, NaN where undefined.

    ``weights``: resamples x scenarios.
    """
    counts = data.counts(data.own_line)
    return _metrics(counts, weights[:, data.scenario], undecided, "excluded")


def _metrics(
    counts: FinalCounts, weights: Floats, undecided: Undecided, failures: str
) -> dict[str, Floats]:
    """Each metric for each resample; NaN where undefined. ``weights``: resamples x answers."""
    shown = counts.true + counts.false
    if undecided == "false":
        shown = shown + counts.undecided
    true = counts.true * counts.complete
    counted = shown * counts.complete
    asked = np.ones_like(true) if failures == "zero" else counts.complete
    # A complete answer without a claim that counts has no share of true ones; a failed one has 0.
    rated = np.where(counts.complete > 0, counted > 0, failures == "zero").astype(float)
    share = np.divide(true, counted, out=np.zeros_like(true), where=counted > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = weights @ true / (weights @ counted)
        return {
            "informativeness": weights @ true / (weights @ asked),
            "factuality": np.full_like(pooled, np.nan) if failures == "zero" else pooled,
            "factuality_per_question": weights @ share / (weights @ rated),
        }


def _rows(
    data: DomainData, line: FinalLine, weights: Floats, undecided: Undecided, failures: str
) -> Iterator[Measurement]:
    counts = data.counts(line)
    questions, complete = len(data.answers), int(counts.complete.sum())
    undefined = "undefined: no claim counts" if complete else "undefined: no question completed"
    reasons = dict.fromkeys(METRICS, undefined)
    if failures == "zero":
        reasons["factuality"] = _NOT_POOLED
    values = _metrics(counts, weights, undecided, failures)
    found = estimates([values[name] for name in METRICS], data.scenarios, list(reasons.values()))
    place = Measurement(
        family="answers",
        domain=data.domain,
        method=line.name,
        budget_percent=line.budget_percent,
        n=questions if failures == "zero" else complete,
        coverage=complete / questions if questions else None,
        undecided=undecided,
        failures=failures,
        samples=line.samples,
    )
    for name, result in zip(METRICS, found, strict=True):
        yield filled(place, result, metric=name)


def _compare(
    data: DomainData, ours: FinalLine, full: int, weights: Floats, undecided: Undecided
) -> Iterator[Measurement]:
    """A line of SimulRAG minus each baseline, on the questions that both completed."""
    mine, pairs = data.counts(ours), []
    for line in data.lines:
        if line.name == SIMULRAG or ours.samples not in (full, line.samples):
            continue
        theirs = data.counts(line)
        common = mine.complete * theirs.complete
        questions = len(data.answers)
        row = Measurement(
            family="comparisons",
            domain=data.domain,
            method=ours.name,
            budget_percent=ours.budget_percent,
            n=int(common.sum()),
            coverage=float(common.sum()) / questions if questions else None,
            level="answer",
            undecided=undecided,
            samples=ours.samples,
            baseline=line.name,
            baseline_samples=line.samples,
        )
        sides = [_on(one, common, weights, undecided) for one in (mine, theirs)]
        pairs.append(Pair(row, sides[0], sides[1]))
    yield from compared(pairs, METRICS, data.scenarios)


def _on(
    counts: FinalCounts, questions: Floats, weights: Floats, undecided: Undecided
) -> Mapping[str, Floats]:
    """The metrics over some questions only."""
    return _metrics(replace(counts, complete=questions), weights, undecided, "excluded")
