"""Answer-level metrics: how much a final answer says that is true, and how much of it is true.

And what a reader can rely on: how many statements of each standing are true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simulrag.method.recipes import MARKED
from simulrag.metrics.domain import FINAL_COUNTS, DomainData, FinalCounts
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import Floats, estimate, estimates, ratio
from simulrag.metrics.methods import OURS
from simulrag.metrics.settings import TREATMENTS, Undecided
from simulrag.metrics.table import Measurement, Pair, compared, filled
from simulrag.records import STANDINGS, AnswerVariant, LabelValue

METRICS = (
    "informativeness",
    "factuality",
    "factuality_per_question",
    "completeness",
    "false_claims",
    "undecided_claims",
    "words",
    "claims_sent",
)
FAILURES = ("excluded", "zero")

_UNDEFINED = {"completeness": "undefined: no complete question has values that it asks for"}
_NOT_POOLED = "undefined: a failed question adds no claims to the pooled share"
_NO_TEXT = "undefined: a failed question has no answer to look at"
_NOT_ZERO = {
    "factuality": _NOT_POOLED,
    **dict.fromkeys(("false_claims", "undecided_claims", "words", "claims_sent"), _NO_TEXT),
}
"""What failed questions cannot be counted in as zero, and why."""


@metric("answers", "comparisons")
def answers(data: DomainData) -> Iterator[Measurement]:
    """Measure every line of final answers, and SimulRAG against every other method.

    A question counts where its answer, its decomposition and every label succeeded. The variant
    ``failures`` = "zero" counts the others too: no true claim in informativeness, a share of 0 in
    the mean of questions. The pooled factuality has no such variant, since a failure adds neither
    true nor false claims. Where no answer is complete every method failed on all questions.

    SimulRAG at its full m is compared with every baseline at every m, at m = 1 with those at m = 1,
    at each budget on the questions that both completed, grounded with the baselines and with the
    published method at its largest m and budget; Holm's correction runs over the baselines
    of one metric.
    """
    weights = data.weights[:, data.scenario]
    for undecided in TREATMENTS:
        for failures in FAILURES:
            for line in data.lines:
                yield from _rows(data, line, weights, undecided, failures)
        ours = [line for line in data.lines if line.method in OURS]
        full = max((line.samples for line in ours), default=0)
        for line in ours:
            yield from _compare(data, line, full, weights, undecided)


def final_answer_values(
    data: DomainData, weights: Floats, undecided: Undecided
) -> dict[str, Floats]:
    """Compute SimulRAG's metrics at its largest m and budget for each resample; NaN: undefined.

    ``weights``: resamples x scenarios.
    """
    counts = _counts(data, data.own_line)
    return _metrics(counts, weights[:, data.scenario], undecided, "excluded")


def _counts(data: DomainData, line: AnswerVariant) -> FinalCounts:
    """Return a line's counts; of a line that nobody wrote, nothing is complete."""
    nothing = np.zeros(len(data.answers))
    return data.final_counts.get(line) or dict.fromkeys(FINAL_COUNTS, nothing)


def _metrics(
    counts: FinalCounts, weights: Floats, undecided: Undecided, failures: str
) -> dict[str, Floats]:
    """Compute each metric a resample; NaN where undefined. ``weights``: resamples x answers."""
    shown = counts["true"] + counts["false"]
    if undecided == "false":
        shown = shown + counts["undecided"]
    complete = counts["complete"]
    counted = shown * complete
    asked = np.ones_like(complete) if failures == "zero" else complete
    # A complete answer without a claim that counts has no share of true ones; a failed one has 0.
    rated = np.where(complete > 0, counted > 0, failures == "zero").astype(float)
    tops_and_bottoms = {
        "informativeness": (counts["true"] * complete, asked),
        "factuality": (counts["true"] * complete, counted),
        "factuality_per_question": (_share(counts["true"] * complete, counted), rated),
        "completeness": (
            _share(counts["stated"], counts["asked"]) * complete,
            asked * (counts["asked"] > 0),
        ),
        "false_claims": ((shown - counts["true"]) * complete, complete),
        "undecided_claims": (counts["undecided"] * complete, complete),
        "words": (counts["words"] * complete, complete),
        "claims_sent": (counts["claims_sent"] * complete, complete),
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {
            name: weights @ top / (weights @ bottom)
            for name, (top, bottom) in tops_and_bottoms.items()
        }
    if failures == "zero":
        values |= {name: np.full(len(weights), np.nan) for name in _NOT_ZERO}
    return values


def _share(part: Floats, whole: Floats) -> Floats:
    """Divide; 0 where there is nothing to take a share of."""
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def _rows(
    data: DomainData, line: AnswerVariant, weights: Floats, undecided: Undecided, failures: str
) -> Iterator[Measurement]:
    counts = _counts(data, line)
    questions, complete = len(data.answers), int(counts["complete"].sum())
    undefined = "undefined: no claim counts" if complete else "undefined: no question completed"
    reasons = dict.fromkeys(METRICS, undefined) | (_UNDEFINED if complete else {})
    if failures == "zero":
        reasons |= _NOT_ZERO
    values = _metrics(counts, weights, undecided, failures)
    results = estimates(
        [values[name] for name in METRICS], data.scenarios, [reasons[name] for name in METRICS]
    )
    place = replace(
        Measurement.of(line, "answers", data.domain),
        n=questions if failures == "zero" else complete,
        coverage=complete / questions if questions else None,
        undecided=undecided,
        failures=failures,
    )
    taken = np.ones(questions) if failures == "zero" else counts["complete"]
    for name, result in zip(METRICS, results, strict=True):
        here = place
        if name == "completeness":
            n = int((taken * (counts["asked"] > 0)).sum())
            here = replace(place, n=n, coverage=n / questions if questions else None)
        yield filled(here, result, metric=name)


def _compare(
    data: DomainData, ours: AnswerVariant, full: int, weights: Floats, undecided: Undecided
) -> Iterator[Measurement]:
    """Compare a line of ours with each baseline, on the questions that both completed."""
    mine, pairs = _counts(data, ours), []
    published = _largest_published(data)
    for line in data.lines:
        baseline = line.method not in OURS
        if ours.method in MARKED:
            against = baseline or line == published
        else:
            against = baseline and ours.samples in (full, line.samples)
        if not against:
            continue
        theirs = _counts(data, line)
        common = mine["complete"] * theirs["complete"]
        questions = len(data.answers)
        row = replace(
            Measurement.of(ours, "comparisons", data.domain),
            n=int(common.sum()),
            coverage=float(common.sum()) / questions if questions else None,
            level="answer",
            undecided=undecided,
            baseline=line.method,
            more={
                "baseline_samples": line.samples,
                "baseline_budget_percent": line.budget_percent,
            },
        )
        sides = [
            _metrics({**counts, "complete": common}, weights, undecided, "excluded")
            for counts in (mine, theirs)
        ]
        pairs.append(Pair(row, sides[0], sides[1]))
    yield from compared(pairs, METRICS, data.scenarios)


def _largest_published(data: DomainData) -> AnswerVariant | None:
    """Find the published method at its largest m and budget."""
    published = [line for line in data.lines if line.method == "simulrag"]
    return max(published, key=lambda line: line.size, default=None)


_COUNTS: dict[str, LabelValue | None] = {
    "true": "true",
    "false": "false",
    "undecided": "undecided",
    "unlabelled": None,
}


@metric("standings")
def standings(data: DomainData) -> Iterator[Measurement]:
    """Count the statements of every line that marks them, by standing and label; ``true_share``.

    ``true_share``: true ones by true and false ones. The label is that of the statement.
    """
    for line in data.lines:
        standings_of = [
            counts.texts[line].standings if line in counts.texts else Counter()
            for counts in data.counted
        ]
        for standing in STANDINGS:
            keys = [(standing, label) for label in _COUNTS.values()]
            counts = np.array(
                [[counted[key] for key in keys] for counted in standings_of], dtype=float
            )
            if not counts.any():
                continue
            place = replace(
                Measurement.of(line, "standings", data.domain),
                level=standing,
                n=int(counts.sum()),
            )
            for name, count in zip(_COUNTS, counts.sum(axis=0).tolist(), strict=True):
                yield replace(place, metric=name, value=count)
            true, decided = counts[:, 0], counts[:, :2].sum(axis=1)
            share = ratio(true, decided, data.scenario, data.weights)
            result = estimate(share, data.scenarios, "undefined: none is labelled true or false")
            yield filled(place, result, metric="true_share", n=int(decided.sum()))
