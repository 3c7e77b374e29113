"""Stage ``forms_metrics``: the measures of answers by form; a judge sees the freeform ones.

The long table of a source's answers has every condition, and one condition minus another. Its
families are ``forms``, the measures by method (the condition that was answered under) and level
(base, reasoning, hypothetical, overall), and ``form_comparisons``, one condition minus
``baseline``, as in the core's comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from flows.files import read_records, write_records
from flows.params import Params
from flows.project import out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from rooms.forms.files import read_forms
from rooms.forms.records import (
    COMPARISONS,
    CONDITIONS,
    FAMILY,
    LEVELS,
    METRICS,
    OVERALL,
    Condition,
    Form,
    FormAnswer,
    Formed,
    FormScore,
    answers_file,
    benchmark_file,
    metrics_table,
    scores_file,
)
from rooms.forms.scores import (
    ALTERNATIVES,
    FORMS_ENTAIL,
    Factual,
    TextEncoder,
    char_counts,
    char_scores,
    judge,
    scored,
    word_counts,
    word_scores,
)
from rooms.forms.settings import FormsParams
from simulators.base import MissingEngineError
from simulators.library.encoder import NAME, Encoder
from simulrag.errors import InputError
from simulrag.metrics.intervals import Floats, estimate, scenario_weights
from simulrag.metrics.table import Measurement, Pair, compared, filled, write_table
from simulrag.models.base import Sampling
from simulrag.stage import Outcome, Stage

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
    """Yield rows by metric, condition and level, then the paired differences between conditions.

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
        """Return values and how many answers they are of."""
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
        """Return the levels' mean, weighted by size."""
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
    """Yield each condition minus each before it, on the questions that both have a value of."""
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
    """Return the commonest reason for which there is no value."""
    reasons = Counter(
        f"no answer: {row.failure}" if row.failure else row.reasons.get(resampled.metric, "")
        for row in rows
        if not resampled.has(row)
    )
    return f"not available: {reasons.most_common(1)[0][0]}" if reasons else "no question"


QuestionAnswer = tuple[Formed, FormAnswer]


async def make(at: StageContext) -> Outcome:
    """Measure the answers of a source: a line an answer, and the long table."""
    at = replace(at, params=judging(at.params))
    place, path = at.place, answers_file(at.place, at.item)
    questions = {one.question_id: one for one in read_forms(benchmark_file(place, at.item))}
    answers = read_records(path, FormAnswer)
    if lost := [one.question_id for one in answers if one.question_id not in questions]:
        raise InputError(f"{path} answers '{lost[0]}', which is no question of {at.item}")
    pairs = [(questions[one.question_id], one) for one in answers]
    judged = {i: pair for i, pair in enumerate(pairs) if to_judge(pair)}
    encoder = _encoder()
    async with at.asking(here=True) as bench:
        ask = partial(work, params=at.params)
        judged_answers = await at.over("judge", judged.values(), ask, bench)
    scores = scored(pairs, dict(zip(judged, judged_answers, strict=True)), encoder)
    rows = table(at.item, scores, at.params)
    write_records(scores_file(place, at.item), scores)
    write_table(metrics_table(place, at.item), rows)
    told = sum(one.p_supports is not None for one in judged_answers)
    return Outcome(
        table=stage_table(at.item, rows),
        counts={"answers judged": (told, len(judged_answers))},
        done=len(judged_answers),  # what the judge could not say is a reason in the table
        total=len(judged_answers),
    )


def judging(params: Params) -> Params:
    """Return the parameters with the judge's sampling as the variant of factual accuracy needs."""
    judge_settings, variant = params.model("judge"), params.room(FormsParams).metrics.factual
    if variant != "logprobs":
        return params
    name, wanted = FORMS_ENTAIL.name, {"top_logprobs": ALTERNATIVES}
    own = judge_settings.tasks.get(name, Sampling()).model_dump(exclude_unset=True)
    tasks = {**judge_settings.tasks, name: Sampling.model_validate({**wanted, **own})}
    changed = {"judge": judge_settings.model_copy(update={"tasks": tasks})}
    return params.model_copy(update={"llm": params.llm.model_copy(update=changed)})


def to_judge(pair: QuestionAnswer) -> bool:
    """Return whether factual accuracy is measured of this answer."""
    return pair[0].form == "freeform" and pair[1].failure is None


async def work(bench: StageResources, pair: QuestionAnswer, params: Params) -> Factual:
    """Judge the factual accuracy of one answer."""
    wanted = params.room(FormsParams).metrics
    return await judge(
        pair[0].text,
        pair[0].answer_text,
        pair[1].answer,
        bench.gateway,
        wanted.factual,
        wanted.min_label_mass,
    )


def table(source: str, scores: list[FormScore], params: Params) -> list[Measurement]:
    """Return the long table's rows, the encoder's and evaluator's names in those of metrics."""
    wanted, evaluator = params.room(FormsParams).metrics, params.model("judge").model
    how = f"{evaluator}, stated" if wanted.factual == "stated" else evaluator
    names = {name: f"{name}[{NAME}]" for name in ("bertscore", "ps")}
    names |= {name: f"{name}[{how}]" for name in ("fa", "p_supports", "label_mass")}
    draws = {"bootstrap": params.metrics.bootstrap, "seed": params.metrics.seed}
    return list(measured(source, scores, names=names, **draws))


def _encoder() -> TextEncoder | str:
    """Load the encoder, or say why there is none."""
    try:
        return Encoder()
    except MissingEngineError as error:
        return str(error)


def stage_table(source: str, rows: list[Measurement]) -> str:
    """Show the overall values as Markdown."""
    overall = [
        (row.metric, row.method, row.reason if row.value is None else f"{row.value:.3f}", row.n)
        for row in rows
        if (row.family, row.level) == (FAMILY, OVERALL)
    ]
    return titled_table(f"forms_metrics {source}", ("metric", "condition", "value", "n"), overall)


STAGE = Stage(
    name="forms_metrics",
    about="the measures of answers by form",
    make=make,
    over="forms.sources",
    each="source",
    role="judge",
    sections=("forms.metrics", "metrics"),
    reads=(out(benchmark_file), out(answers_file)),
    makes=(out(scores_file), out(metrics_table)),
)
