"""Answer-level metrics: how much a final answer says that is true, and how much of it is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulrag.errors import InputError
from simulrag.evaluation.intervals import Floats, estimate, scenario_weights, two_sided_p
from simulrag.evaluation.pool import LabelLookup, scenario_index
from simulrag.evaluation.settings import UNDECIDED, MetricSettings, Undecided
from simulrag.records import Answer, FinalClaims, claim_hash

Row = dict[str, object]

METHOD_NAMES = {"simulrag": "SimulRAG", "closed_book": "Closed book"}
OURS = "SimulRAG"
METRICS = ("informativeness", "factuality", "factuality_per_question")
FAILURES = ("excluded", "zero")
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
    """All measurements of a domain, and SimulRAG minus every other method.

    A question counts where its answer, its decomposition and every label succeeded. The variant
    ``failures`` = "zero" counts the others too: no true claim in informativeness, a share of 0 in
    the mean of questions. The pooled factuality has no such variant, since a failure adds neither
    true nor false claims. Where no answer is complete every method failed on all questions.
    """
    ids = [answer.question_id for answer in answers]
    scenario, scenarios = scenario_index(ids, scenario_of)
    weights = scenario_weights(scenarios, settings.bootstrap, settings.seed, domain)
    by_question = weights[:, scenario]
    table = _by_method(finals)
    lost = all(answer.failure is not None for answer in answers)
    methods = [name for name in METHOD_NAMES if lost or name in table]
    rows: list[Row] = []
    comparisons: list[Row] = []
    for undecided in UNDECIDED:
        counts = {n: _counts(answers, table.get(n, {}), labels, undecided) for n in methods}
        for failures in FAILURES:
            variant = {"undecided": undecided, "failures": failures}
            found = {name: _metrics(counts[name], by_question, failures) for name in methods}
            for name in methods:
                rows += _rows(
                    domain, name, found[name], counts[name], scenarios=scenarios, variant=variant
                )
            for name in methods:
                if METHOD_NAMES[name] != OURS and "simulrag" in counts:
                    both = _paired(counts["simulrag"], counts[name])
                    pair = [_metrics(one, by_question, failures) for one in both]
                    comparisons += _compare(
                        domain, name, pair[0], pair[1], scenarios=scenarios, variant=variant
                    )
    return rows, comparisons


def _by_method(finals: Sequence[FinalClaims]) -> dict[str, dict[str, FinalClaims]]:
    table: dict[str, dict[str, FinalClaims]] = {}
    for final in finals:
        of_method = table.setdefault(final.method, {})
        if final.question_id in of_method:
            raise InputError(
                f"final claims: question '{final.question_id}' is there twice for "
                f"{final.method}: remove one row"
            )
        of_method[final.question_id] = final
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
    name: str,
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
            "method": METHOD_NAMES[name],
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
    name: str,
    ours: Mapping[str, Floats],
    other: Mapping[str, Floats],
    *,
    scenarios: int,
    variant: Mapping[str, str],
) -> Iterator[Row]:
    if variant["failures"] == "zero":
        return
    for metric in METRICS:
        gap = ours[metric] - other[metric]
        result = estimate(gap, scenarios, "undefined for one of the two")
        p = two_sided_p(gap) if scenarios > 1 else None
        yield {
            "domain": domain,
            "level": "answer",
            "method": OURS,
            "baseline": METHOD_NAMES[name],
            "budget_percent": None,
            "centrality": None,
            "undecided": variant["undecided"],
            "metric": metric,
            "difference": result.value,
            "lower_95": result.lower_95,
            "upper_95": result.upper_95,
            "p": p,
            "p_holm": p,  # one baseline so far: the family holds one test
            "reason": result.reason,
        }
