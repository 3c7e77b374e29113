"""The measures of SCORE of every answer, from what models said of it, and their table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rooms.score.formulas import (
    DETAILS,
    Scorer,
    asked_back,
    confidence,
    context_use,
    detail_shares,
    evidence_dependence,
    evidence_used,
    leave_one_out,
    specificity,
)
from rooms.score.readability import readability, sentences
from rooms.score.reading import moved, same_calls, same_claims
from rooms.score.records import ScoredAnswer, Variant
from rooms.score.settings import ScoreParams
from simulrag.errors import EnvironmentFault, ModelError
from simulrag.metrics.intervals import Floats, estimate, ratio, scenario_weights, told_of_enough
from simulrag.metrics.methods import CLOSED_BOOK, FINAL, OURS
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement, filled
from simulrag.records import Evidence


class Measure(NamedTuple):
    """``needs``: the calls without which it has no value; ``undefined``: why else there is none."""

    title: str
    undefined: str
    needs: tuple[str, ...] = ()


_MARKS = ("claims", "judge 1")
_NO_EVIDENCE = "there is no evidence to leave out"
_UNSTATED = "no claim states it"
_SILENT = "its claims say nothing of the outputs"
_OTHER_LANGUAGE = "it is not English text"


def _needs(variant: str) -> tuple[str, ...]:
    return variant, f"reading {variant}", "reading answer", "claims"


MEASURES: dict[str, Measure] = {
    "specificity": Measure("Specificity", "no claim states a detail that has a weight", _MARKS),
    "specificity_scenario": Measure("Specificity, scenario", _UNSTATED, _MARKS),
    "specificity_place": Measure("Specificity, place", _UNSTATED, _MARKS),
    "specificity_time": Measure("Specificity, time", _UNSTATED, _MARKS),
    "specificity_magnitude": Measure("Specificity, magnitude", _UNSTATED, _MARKS),
    "relevance": Measure("Relevance", "nothing was asked back", ("asking back", "similarity")),
    "relevance_unmasked": Measure(
        "Relevance, nothing masked", "nothing was asked back", ("asking plainly", "similarity")
    ),
    "detrimental": Measure(
        "Sentences that take from the fit", "it is one sentence", ("similarity",)
    ),
    "same_calls": Measure("Same tool calls, reworded", "it rests on no tool call", ("paraphrase",)),
    "same_claims": Measure("Same claims, reworded", _SILENT, _needs("paraphrase")),
    "paraphrase_similarity": Measure("Similarity, reworded", "", ("paraphrase", "similarity")),
    "moved": Measure("Moved as simulated", _SILENT, _needs("perturbation")),
    "perturbation_similarity": Measure(
        "Similarity, other scenario", "", ("perturbation", "similarity")
    ),
    "context_use": Measure("Context use", _NO_EVIDENCE, ("forcing",)),
    "context_use_relative": Measure("Context use, relative", _NO_EVIDENCE, ("forcing",)),
    "evidence_gain": Measure("Gain of all evidence", _NO_EVIDENCE, ("forcing",)),
    "evidence_used": Measure(
        "Evidence used", "no sentence of the evidence has a number", ("claims",)
    ),
    "evidence_dependence": Measure(
        "Evidence dependence", "the evidence decides none of its claims", ("dependence", "claims")
    ),
    "reading_ease": Measure("Reading ease", _OTHER_LANGUAGE),
    "grade_level": Measure("Grade level", _OTHER_LANGUAGE),
}
"""By name, in the order of the tables."""

RAG = ("rag_looks", "input_rag")
"""What a recipe's answers are held against beside closed book."""

_NO_VARIANT = "no question was varied (score.variants)"
_NOT_BACK = "no question is asked back (score.asked_back)"
NOT_ASKED = {
    "asking back": _NOT_BACK,
    "asking plainly": _NOT_BACK,
    "paraphrase": _NO_VARIANT,
    "perturbation": _NO_VARIANT,
    "forcing": "no model that gives probabilities of words is named (score.confidence)",
    "dependence": "verdicts without each piece of evidence are off (score.dependence)",
}
"""By the first of its needs, why a measure has no row."""


def facts_of(evidence: Iterable[Evidence | str]) -> list[str]:
    """Return the context's claims: sentences of each run's text, one an output; no model."""
    texts = (piece if isinstance(piece, str) else piece.text for piece in evidence)
    return list(dict.fromkeys(part for text in texts for part in sentences(text)))


async def measured(
    asked: ScoredAnswer, settings: ScoreParams, similar: Scorer, fits: Scorer
) -> ScoredAnswer:
    """Return the answer with its values. What was not asked for has no value and no reason.

    ``similar`` compares texts, ``fits`` says how well one fits a question.
    """
    reasons = dict(asked.reasons)
    if "answer" in reasons:
        return asked.model_copy(update={"values": dict.fromkeys(MEASURES)})
    shares = detail_shares(asked.votes) or (None,) * len(DETAILS)
    flesch = readability(asked.given.answer) or (None, None)
    values: dict[str, float | None] = {
        "specificity": specificity(
            asked.votes, settings.weights, undefined_as_zero=settings.undefined_as_zero
        ),
        **{f"specificity_{name}": share for name, share in zip(DETAILS, shares, strict=True)},
        **dict.fromkeys(("relevance", "relevance_unmasked") if settings.asked_back else ()),
        "detrimental": None,
        **_robustness(asked),
        **_evidence(asked),
        **dict(zip(("reading_ease", "grade_level"), flesch, strict=True)),
    }
    for name, again in _variants(asked).items():
        values[f"{name}_similarity"] = None
        reasons |= {name: again.failure} if again.failure else {}
    try:
        async for name, value in _similarities(asked, similar, fits):
            if name in values:
                values[name] = value
    except (EnvironmentFault, ModelError) as error:
        reasons["similarity"] = str(error)
    for name, value in values.items():
        if value is None:
            measure = MEASURES[name]
            known = (reasons[need] for need in measure.needs if need in reasons)
            reasons[name] = next(known, measure.undefined)
    ordered = {name: values[name] for name in MEASURES if name in values}
    return asked.model_copy(update={"values": ordered, "reasons": dict(sorted(reasons.items()))})


def _variants(asked: ScoredAnswer) -> dict[str, Variant]:
    given = asked.given
    both = {"paraphrase": given.paraphrased, "perturbation": given.perturbed}
    return {name: again for name, again in both.items() if again is not None}


async def _similarities(
    asked: ScoredAnswer, similar: Scorer, fits: Scorer
) -> AsyncIterator[tuple[str, float | None]]:
    question, answer = asked.given.question, asked.given.answer
    yield "relevance", await asked_back(question, asked.asked_back, similar)
    yield "relevance_unmasked", await asked_back(question, asked.asked_plainly, similar)
    adds = await leave_one_out(question, sentences(answer), fits)
    yield "detrimental", sum(share < 0 for share in adds) / len(adds) if adds else None
    for name, again in _variants(asked).items():
        if again.failure is None:
            (alike,) = await similar(answer, [again.answer])
            yield f"{name}_similarity", alike


def _robustness(asked: ScoredAnswer) -> dict[str, float | None]:
    given, readings = asked.given, asked.readings
    values: dict[str, float | None] = {}
    own = readings.get("answer")
    if (again := given.paraphrased) is not None:
        rests = again.failure is None and (given.calls or again.calls)
        values["same_calls"] = float(same_calls(given.calls, again.calls)) if rests else None
        values["same_claims"] = None
        if own is not None and (other := readings.get("paraphrase")) is not None:
            values["same_claims"] = same_claims(own, other)
    if (again := given.perturbed) is not None:
        values["moved"] = None
        if own is not None and (other := readings.get("perturbation")) is not None:
            right = moved(own, other, given.runs, again.evidence)
            values["moved"] = None if right is None else float(right)
    return values


def _evidence(asked: ScoredAnswer) -> dict[str, float | None]:
    used = evidence_used(asked.claims, asked.facts, asked.given.question)
    values: dict[str, float | None] = {"evidence_used": used}
    if asked.forced or "forcing" in asked.reasons:
        full, *without, alone = [confidence(row) for row in asked.forced] or [None, None]
        known = [value for value in without if value is not None]
        use = context_use(full, known) if full is not None else (None, None)
        values |= dict(zip(("context_use", "context_use_relative"), use, strict=True))
        # What all evidence adds. Leaving out one of two duplicates costs nothing; this shows them.
        values["evidence_gain"] = None
        if full is not None and alone is not None and known:
            values["evidence_gain"] = full - alone
    if asked.verdicts or "dependence" in asked.reasons:
        full_verdicts, *rest = asked.verdicts or ((),)
        shares = [value for value in evidence_dependence(full_verdicts, rest) if value is not None]
        values["evidence_dependence"] = sum(shares) / len(shares) if shares else None
    return values


def score_rows(
    answers: Sequence[ScoredAnswer], settings: MetricSettings, domain: str
) -> Iterator[Measurement]:
    """Yield every measure of every method: its mean over the answers that have it, one row each.

    ``coverage``: the share that it is defined for, of the answers that it was asked of. Intervals
    draw scenarios. After them, with ``baseline``, what each method has more than closed book, and
    what a recipe has more than RAG, over the questions where both have a value; at the end
    ``same_text``, the share of a recipe's answers that are RAG's to the letter.
    """
    order: dict[str, int] = {method: place for place, method in enumerate(FINAL)}
    lines = sorted(
        {_line(answer) for answer in answers}, key=lambda line: (order.get(line[0], 99), line)
    )
    for metric in MEASURES:
        valued = [(answer, answer.values[metric]) for answer in answers if metric in answer.values]
        if not valued:
            continue
        names = dict.fromkeys(_scenario(answer) for answer, _ in valued)
        scenarios = {scenario: place for place, scenario in enumerate(names)}
        weights = scenario_weights(len(scenarios), settings.bootstrap, settings.seed, domain)
        row = Measurement(family="score", domain=domain, metric=metric)
        for baseline in ("", CLOSED_BOOK, *RAG):
            values = _differences(valued, baseline) if baseline else valued
            for line in lines:
                if own := [pair for pair in values if _line(pair[0]) == line]:
                    method, samples = line
                    place = replace(row, method=method, samples=samples, baseline=baseline)
                    yield _mean(place, own, scenarios, weights)
    yield from _same_texts(answers, domain)


def _differences(
    valued: Sequence[tuple[ScoredAnswer, float | None]], baseline: str
) -> list[tuple[ScoredAnswer, float | None]]:
    """Return what answers have more than the baseline's to the same question."""
    theirs = {_question(one): value for one, value in valued if one.given.method == baseline}
    return [
        (answer, _less(value, theirs[_question(answer)]))
        for answer, value in valued
        if _question(answer) in theirs and _compared(answer.given.method, baseline)
    ]


def _compared(method: str, baseline: str) -> bool:
    return method != baseline and (baseline == CLOSED_BOOK or method in OURS)


def _same_texts(answers: Sequence[ScoredAnswer], domain: str) -> Iterator[Measurement]:
    for baseline in RAG:
        theirs = {_question(one): one.given for one in answers if one.given.method == baseline}
        same: dict[tuple[str, int], list[bool]] = {}
        for answer in answers:
            if _question(answer) in theirs and _compared(answer.given.method, baseline):
                text = theirs[_question(answer)].answer
                same.setdefault(_line(answer), []).append(answer.given.answer == text)
        for (method, samples), equal in sorted(same.items()):
            yield Measurement(
                family="score",
                domain=domain,
                metric="same_text",
                method=method,
                samples=samples,
                baseline=baseline,
                value=sum(equal) / len(equal),
                n=len(equal),
            )


def _mean(
    row: Measurement,
    valued: Sequence[tuple[ScoredAnswer, float | None]],
    scenarios: Mapping[str, int],
    weights: Floats,
) -> Measurement:
    """Return the row with the mean of the known values; ``weights`` as ``scenario_weights``."""
    known = np.array([value is not None for _, value in valued], dtype=float)
    place = np.array([scenarios[_scenario(answer)] for answer, _ in valued])
    draws = ratio(np.array([value or 0.0 for _, value in valued]), known, place, weights)
    reasons = (answer.reasons[row.metric] for answer, _ in valued if row.metric in answer.reasons)
    reason = "; ".join(dict.fromkeys(reasons)) or "no answer"
    counted = replace(row, n=int(known.sum()), coverage=float(known.mean()))
    result = estimate(draws, len(scenarios), reason)
    return filled(counted, told_of_enough(result, int(known.sum())))


def _less(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def _question(asked: ScoredAnswer) -> tuple[str, str]:
    return asked.given.scenario_id, asked.given.question_id or asked.given.question


def _line(asked: ScoredAnswer) -> tuple[str, int]:
    return asked.given.method, asked.given.samples


def _scenario(asked: ScoredAnswer) -> str:
    return asked.given.scenario_id or asked.given.question_id or asked.given.question
