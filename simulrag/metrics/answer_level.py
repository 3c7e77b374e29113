"""Answer-level metrics: how much a final answer says that is true, and how much of it is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulrag.errors import InputError
from simulrag.metrics.intervals import (
    Floats,
    estimate,
    holm,
    relative_gain,
    scenario_weights,
    two_sided_p,
)
from simulrag.metrics.pool import LabelLookup, scenario_index
from simulrag.metrics.settings import UNDECIDED, MetricSettings, Undecided
from simulrag.records import Answer, FinalClaims, FinalMethod, claim_hash

Row = dict[str, object]

METHOD_NAMES: dict[FinalMethod, str] = {
    "simulrag": "SimulRAG",
    "output_rag": "Output-layer RAG",
    "input_rag": "Input-layer RAG",
    "closed_book": "Closed book",
}
OURS: FinalMethod = "simulrag"
METRICS = ("informativeness", "factuality", "factuality_per_question")
FAILURES = ("excluded", "zero")
Line = tuple[FinalMethod, int]
"""A method and m, the number of sampled answers behind its final one."""

_NOT_POOLED = "undefined: a failed question adds no claims to the pooled share"


@dataclass(frozen=True)
class Counts:
    """Per question: unique true claims, unique claims that count, and whether all is known."""

    true: Floats
    counted: Floats
    complete: Floats


def answer_level(
    domain: str,
    answers: Sequence[Answer],
    finals: Sequence[FinalClaims],
    labels: LabelLookup,
    *,
    scenario_of: Mapping[str, str],
    settings: MetricSettings,
) -> tuple[list[Row], list[Row]]:
    """All measurements of a domain, and SimulRAG against every other method.

    A question counts where its answer, its decomposition and every label succeeded. The variant
    ``failures`` = "zero" counts the others too: no true claim in informativeness, a share of 0 in
    the mean of questions. The pooled factuality has no such variant, since a failure adds neither
    true nor false claims. Where no answer is complete every method failed on all questions.

    SimulRAG at its full m is compared with every baseline at every m, at m = 1 with those at m = 1;
    Holm's correction runs over the baselines of one metric.
    """
    ids = [answer.question_id for answer in answers]
    scenario, scenarios = scenario_index(ids, scenario_of)
    weights = scenario_weights(scenarios, settings.bootstrap, settings.seed, domain)
    by_question = weights[:, scenario]
    table = _by_line(finals)
    rows: list[Row] = []
    comparisons: list[Row] = []
    for undecided in UNDECIDED:
        counts = {
            line: _counts(answers, table.get(line, {}), labels, undecided)
            for line in _lines(answers, table)
        }
        for failures in FAILURES:
            variant = {"undecided": undecided, "failures": failures}
            for line, of_line in counts.items():
                found = _metrics(of_line, by_question, failures)
                rows += _rows(domain, line, found, of_line, scenarios=scenarios, variant=variant)
        for line in counts:
            if line[0] == OURS:
                comparisons += _compare(
                    domain, line, counts, by_question, scenarios=scenarios, undecided=undecided
                )
    return rows, comparisons


def final_answer_values(
    answers: Sequence[Answer],
    finals: Sequence[FinalClaims],
    labels: LabelLookup,
    scenario_of: Mapping[str, str],
    *,
    weights: Floats,
    undecided: Undecided,
) -> dict[str, Floats]:
    """SimulRAG's metrics at its largest m for each resample, NaN where undefined.

    ``weights``: resamples x scenarios, in the order in which the answers first name them.
    """
    scenario, _ = scenario_index([answer.question_id for answer in answers], scenario_of)
    table = _by_line(finals)
    ours = next(line for line in _lines(answers, table | {(OURS, 1): {}}) if line[0] == OURS)
    counts = _counts(answers, table.get(ours, {}), labels, undecided)
    return _metrics(counts, weights[:, scenario], "excluded")


def _lines(answers: Sequence[Answer], table: Mapping[Line, object]) -> list[Line]:
    """The lines to measure: SimulRAG first, of one method the largest m first."""
    found = set(table)
    if all(answer.failure is not None for answer in answers):
        samples = max((len(answer.closed_book) for answer in answers), default=0)
        found |= {(OURS, max(1, samples)), ("closed_book", 1)}
    order = list(METHOD_NAMES)
    return sorted(found, key=lambda line: (order.index(line[0]), -line[1]))


def _by_line(finals: Sequence[FinalClaims]) -> dict[Line, dict[str, FinalClaims]]:
    table: dict[Line, dict[str, FinalClaims]] = {}
    for final in finals:
        of_line = table.setdefault((final.method, final.samples), {})
        if final.question_id in of_line:
            raise InputError(
                f"final claims: question '{final.question_id}' is there twice for "
                f"{final.method} at m = {final.samples}: remove one row"
            )
        of_line[final.question_id] = final
    return table


def _counts(
    answers: Sequence[Answer],
    finals: Mapping[str, FinalClaims],
    labels: LabelLookup,
    undecided: Undecided,
) -> Counts:
    true, counted, complete = [], [], []
    for answer in answers:
        final = finals.get(answer.question_id)
        done = answer.failure is None and final is not None and final.failure is None
        texts = final.claims if final is not None else ()
        found = [
            labels.get((answer.question_id, key))
            for key in dict.fromkeys(claim_hash(text) for text in texts)
        ]
        shown = found if undecided == "false" else [x for x in found if x != "undecided"]
        true.append(sum(label == "true" for label in shown))
        counted.append(len(shown))
        complete.append(done and None not in found)
    return Counts(*(np.array(column, dtype=float) for column in (true, counted, complete)))


def _metrics(counts: Counts, weights: Floats, failures: str) -> dict[str, Floats]:
    """Each metric for each resample; NaN where undefined."""
    true = counts.true * counts.complete
    counted = counts.counted * counts.complete
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


def _paired(ours: Counts, other: Counts) -> tuple[Counts, Counts]:
    """Both, restricted to the questions that both completed."""
    common = ours.complete * other.complete
    first = Counts(ours.true, ours.counted, common)
    return first, Counts(other.true, other.counted, common)


def _rows(
    domain: str,
    line: Line,
    found: Mapping[str, Floats],
    counts: Counts,
    *,
    scenarios: int,
    variant: Mapping[str, str],
) -> Iterator[Row]:
    questions = len(counts.complete)
    complete = int(counts.complete.sum())
    for metric in METRICS:
        reason = "undefined: no claim counts" if complete else "undefined: no question completed"
        if metric == "factuality" and variant["failures"] == "zero":
            reason = _NOT_POOLED
        result = estimate(found[metric], scenarios, reason)
        yield {
            "domain": domain,
            "method": METHOD_NAMES[line[0]],
            "samples": line[1],
            **variant,
            "metric": metric,
            "value": result.value,
            "lower_95": result.lower_95,
            "upper_95": result.upper_95,
            "n": questions if variant["failures"] == "zero" else complete,
            "coverage": complete / questions if questions else None,
            "reason": result.reason,
        }


def _compare(
    domain: str,
    ours: Line,
    counts: Mapping[Line, Counts],
    weights: Floats,
    *,
    scenarios: int,
    undecided: str,
) -> Iterator[Row]:
    """SimulRAG minus each baseline, on the questions that both completed."""
    full = max(samples for method, samples in counts if method == OURS)
    others = [
        line for line in counts if line[0] != OURS and (ours[1] == full or line[1] == ours[1])
    ]
    pairs = {
        line: tuple(
            _metrics(one, weights, "excluded") for one in _paired(counts[ours], counts[line])
        )
        for line in others
    }
    for metric in METRICS:
        gaps = [pairs[line][0][metric] - pairs[line][1][metric] for line in others]
        raw = [two_sided_p(gap) if scenarios > 1 else None for gap in gaps]
        for line, gap, p, adjusted in zip(others, gaps, raw, holm(raw), strict=True):
            mine, theirs = (side[metric] for side in pairs[line])
            result = estimate(gap, scenarios, "undefined for one of the two")
            gain = estimate(relative_gain(mine, theirs), scenarios, "")
            yield {
                "domain": domain,
                "level": "answer",
                "method": METHOD_NAMES[OURS],
                "samples": ours[1],
                "baseline": METHOD_NAMES[line[0]],
                "baseline_samples": line[1],
                "budget_percent": None,
                "centrality": None,
                "undecided": undecided,
                "metric": metric,
                "difference": result.value,
                "lower_95": result.lower_95,
                "upper_95": result.upper_95,
                "gain_percent": gain.value,
                "gain_lower_95": gain.lower_95,
                "gain_upper_95": gain.upper_95,
                "p": p,
                "p_holm": adjusted,
                "reason": result.reason,
            }
