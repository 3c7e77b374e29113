"""The long table of a source's answers: every condition, and one condition minus another.

Its families are ``forms``, the measures by method (the condition that was answered under) and level
(base, reasoning, hypothetical, overall), and ``form_comparisons``, one condition minus
``baseline``, as in the core's comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from rooms.forms.bleu import char_counts, char_scores, word_counts, word_scores
from rooms.forms.records import (
    COMPARISONS,
    CONDITIONS,
    FAMILY,
    LEVELS,
    METRICS,
    OVERALL,
    Condition,
    Form,
    FormScore,
)
from simulrag.metrics.intervals import Floats, estimate, scenario_weights
from simulrag.metrics.table import Measurement, Pair, compared, filled

_CORPUS: Mapping[str, tuple[Callable[[str, str], Floats], Callable[[Floats], Floats]]] = {
    "bleu": (word_counts, word_scores),
    "bleu_char": (char_counts, char_scores),
}
"""Measures of all answers together: counts of a pair, and the value of summed counts."""


def measured(
    source: str,
    scores: Sequence[FormScore],
    *,
    names: Mapping[str, str],
    bootstrap: int,
    seed: int,
) -> Iterator[Measurement]:
    """Rows by metric, condition and level, then the paired differences between conditions.

    ``names``: a measure's full name (an encoder, an evaluator). Scenarios are drawn, each with all
    forms and levels of its questions. The overall value is the mean of the levels' values weighted
    by their sizes, as published; of BLEU, a level's value is that of its answers together.
    """
    ids = sorted({row.scenario_id for row in scores})
    weights = scenario_weights(len(ids), bootstrap, seed, source)
    number = {name: index for index, name in enumerate(ids)}
    for form, metrics in METRICS.items():
        for metric in metrics:
            by_condition = {
                condition: [x for x in scores if (x.form, x.condition) == (form, condition)]
                for condition in CONDITIONS
            }
            there = {name: rows for name, rows in by_condition.items() if rows}
            resampled = _Resampled(metric, weights, number)
            place = Measurement(family=FAMILY, domain=source, metric=names.get(metric, metric))
            for condition, rows in there.items():
                yield from _levels(replace(place, method=condition), rows, resampled)
            if metric != "label_mass":
                yield from _differences(place, there, resampled, form)


class _Resampled:
    """A measure of some answers, a value a resample; NaN where none is drawn."""

    def __init__(self, metric: str, weights: Floats, number: Mapping[str, int]) -> None:
        self.metric = metric
        self.scenarios = len(number)
        self._weights = weights
        self._number = number

    def has(self, row: FormScore) -> bool:
        return self.metric in row.values

    def of_level(self, rows: Sequence[FormScore]) -> tuple[Floats, Floats]:
        """Values and how many answers they are of."""
        drawn = self._weights[:, [self._number[row.scenario_id] for row in rows]]
        size = drawn.sum(axis=1)
        if self.metric in _CORPUS:
            counted, score = _CORPUS[self.metric]
            counts = np.stack([counted(row.reference, row.answer) for row in rows])
            values: Floats = score(drawn @ counts)
        else:
            told = np.array([row.values[self.metric] for row in rows], dtype=float)
            values = np.divide(drawn @ told, size, out=np.zeros_like(size), where=size > 0)
        return np.where(size > 0, values, np.nan), size

    def overall(self, rows: Sequence[FormScore]) -> Floats:
        """The levels' mean, weighted by size."""
        levels = [[row for row in rows if row.level == level] for level in LEVELS]
        found = [self.of_level(level) for level in levels if level]
        if not found:
            return np.full(len(self._weights), np.nan)
        total = np.sum([size for _, size in found], axis=0)
        top = np.sum([np.where(size > 0, values * size, 0.0) for values, size in found], axis=0)
        mean: Floats = np.divide(top, total, out=np.full_like(total, np.nan), where=total > 0)
        return mean


def _levels(
    place: Measurement, rows: Sequence[FormScore], resampled: _Resampled
) -> Iterator[Measurement]:
    levels: tuple[str, ...] = tuple(x for x in LEVELS if any(row.level == x for row in rows))
    for level in (*(levels if len(levels) > 1 else ()), OVERALL):
        asked = [row for row in rows if level in (OVERALL, row.level)]
        done = [row for row in asked if resampled.has(row)]
        result = estimate(resampled.overall(done), resampled.scenarios, _why(asked, resampled))
        here = replace(place, level=level, n=len(done), coverage=len(done) / len(asked))
        yield filled(here, result)


def _differences(
    place: Measurement,
    there: Mapping[Condition, Sequence[FormScore]],
    resampled: _Resampled,
    form: Form,
) -> Iterator[Measurement]:
    """Each condition minus each before it, on the questions that both have a value of."""
    pairs = []
    for before, after in combinations(there, 2):
        known = [
            {row.question_id: row for row in there[condition] if resampled.has(row)}
            for condition in (before, after)
        ]
        both = [question for question in known[0] if question in known[1]]
        theirs, ours = (
            {place.metric: resampled.overall([side[question] for question in both])}
            for side in known
        )
        asked = {row.question_id for row in (*there[before], *there[after])}
        row = replace(
            place,
            family=COMPARISONS,
            method=after,
            baseline=before,
            level=OVERALL,
            n=len(both),
            coverage=len(both) / len(asked),
        )
        reason = "" if both else f"no {form} question has a value under both"
        pairs.append(Pair(row, ours, theirs, reason))
    if pairs:
        yield from compared(pairs, [place.metric], resampled.scenarios)


def _why(rows: Sequence[FormScore], resampled: _Resampled) -> str:
    """The commonest reason for which there is no value."""
    reasons = Counter(
        f"no answer: {row.failure}" if row.failure else row.reasons.get(resampled.metric, "")
        for row in rows
        if not resampled.has(row)
    )
    return f"not available: {reasons.most_common(1)[0][0]}" if reasons else "no question"
