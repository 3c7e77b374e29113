"""Answers rated by people with SCORE's form: Label Studio tasks out, its JSON export back in.

And how people agree with each other, and with the scores that models gave.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple, get_args

from pydantic import Field, ValidationError

from rooms.score.formulas import DETAILS
from rooms.score.records import AnswerToScore, DetailMark, ScoredAnswer
from simulrag.errors import InputError
from simulrag.records import Record, claim_hash

SCALES = ("relevance", "context_use", "confidence")


class Rating(Record):
    """What one person said of one answer as a whole; scales are 1 to 10.

    ``answer_hash``: of question, method and answer.
    """

    answer_hash: str
    annotator: str
    scenario: DetailMark
    place: DetailMark
    time: DetailMark
    magnitude: DetailMark
    relevance: int = Field(ge=1, le=10)
    context_use: int = Field(ge=1, le=10)
    confidence: int = Field(ge=1, le=10)
    note: str = ""


def answer_hash(given: AnswerToScore) -> str:
    """Return what a rating and a score know an answer by."""
    return claim_hash("\n".join((given.question, given.method, given.answer)))


def rating_tasks(given: Sequence[AnswerToScore]) -> list[dict[str, Any]]:
    """Make a task of each answer; who or what wrote it is not shown."""
    return [
        {
            "data": {
                "answer_hash": answer_hash(answer),
                "question": answer.question,
                "evidence": "\n\n".join(answer.texts),
                "answer": answer.answer,
            },
            "meta": {"annotators_wanted": 2},
        }
        for answer in given
        if answer.failure is None
    ]


def read_ratings(content: bytes, name: str) -> list[Rating]:
    """Read the ratings of an export of the type JSON; skipped tasks are left out.

    Raises InputError that names the task and the field.
    """
    try:
        tasks = json.loads(content)
        return [
            _rating(task["data"], annotation, f"{name}: task {place}")
            for place, task in enumerate(tasks, 1)
            for annotation in task["annotations"]
            if not annotation.get("was_cancelled")
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{name} is no JSON export of rated answers: {error!r}") from None


def _rating(data: dict[str, Any], annotation: dict[str, Any], where: str) -> Rating:
    fields: dict[str, Any] = {}
    for result in annotation["result"]:
        (given,) = list(result["value"].values())[:1]
        value = " ".join(given) if isinstance(given, list) else given
        fields[result["from_name"]] = int(value) if result["from_name"] in SCALES else value
    by = annotation["completed_by"]
    who = f"label-studio-{by['id'] if isinstance(by, dict) else by}"
    try:
        return Rating.model_validate(
            {**fields, "answer_hash": data["answer_hash"], "annotator": who}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{where}, {who}: {first['loc']}: {first['msg']}") from None


JUDGED = {
    "relevance": ("relevance",),
    "context_use": ("context_use", "evidence_used"),
    **{detail: (f"specificity_{detail}",) for detail in DETAILS},
}
"""Which scores a rating is held against; a detail's "yes" counts 1 and its "no" 0."""


class RaterAgreement(NamedTuple):
    """``value`` is Fleiss' kappa of ``n`` answers, or Spearman's rho of ``n`` pairs with its p."""

    what: str
    between: str
    value: float | None
    p: float | None
    n: int


def agreements(
    ratings: Sequence[Rating], scored: Sequence[ScoredAnswer]
) -> Iterator[RaterAgreement]:
    """Yield agreement between people by detail and scale, then of their mean with the scores.

    Raises InputError for a rating of an answer that was not scored, and for a second one by the
    same annotator.
    """
    scores = {answer_hash(one.given): one.values for one in scored}
    by_answer: dict[str, dict[str, Rating]] = {}
    for rating in ratings:
        given = by_answer.setdefault(rating.answer_hash, {})
        if rating.answer_hash not in scores or rating.annotator in given:
            why = "rated it twice" if rating.annotator in given else "rated what was not scored"
            raise InputError(f"{rating.annotator} {why}: answer {rating.answer_hash}")
        given[rating.annotator] = rating
    sizes = Counter(len(given) for given in by_answer.values() if len(given) > 1)
    usual = sizes.most_common(1)[0][0] if sizes else 0
    for detail in DETAILS:
        counts = [
            [
                [getattr(one, detail) for one in given.values()].count(m)
                for m in get_args(DetailMark)
            ]
            for given in by_answer.values()
            if len(given) == usual
        ]
        yield RaterAgreement(detail, "people (kappa)", fleiss_kappa(counts), None, len(counts))
    for scale in SCALES:
        pairs = [
            (getattr(one, scale), getattr(two, scale))
            for given in by_answer.values()
            for one, two in combinations([given[name] for name in sorted(given)], 2)
        ]
        yield _correlated(scale, "people (rho)", pairs)
    for what, names in JUDGED.items():
        for name in names:
            pairs = [
                (mean, score)
                for answer, given in by_answer.items()
                if (score := scores[answer].get(name)) is not None
                and (mean := _mean(what, given)) is not None
            ]
            yield _correlated(what, f"people and {name} (rho)", pairs)


def _mean(what: str, given: dict[str, Rating]) -> float | None:
    marks = [getattr(rating, what) for rating in given.values()]
    known = [mark == "yes" if isinstance(mark, str) else mark for mark in marks if mark != "n/a"]
    return fmean(known) if known else None


def _correlated(what: str, between: str, pairs: Sequence[tuple[float, float]]) -> RaterAgreement:
    correlation = spearman([one for one, _ in pairs], [two for _, two in pairs])
    value, p = correlation or (None, None)
    return RaterAgreement(what, between, value, p, len(pairs))


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Compute Fleiss' kappa (1971); ``counts[item][label]``: how many raters gave it.

    Every item has the same number of ratings, at least two. None without an item and where one
    label alone was ever given.
    """
    import numpy as np

    from simulrag.metrics.families.agreement import fleiss_kappa as resampled

    if not counts:
        return None
    (kappa,) = resampled(np.asarray(counts), np.ones((1, len(counts))))
    return None if np.isnan(kappa) else float(kappa)


def spearman(one: Sequence[float], two: Sequence[float]) -> tuple[float, float] | None:
    """Compute Spearman's rank correlation, ties by midrank, and its two-sided p-value.

    None below 3 pairs and for a constant.
    """
    from scipy.stats import spearmanr

    if len(one) < 3 or len(set(one)) == 1 or len(set(two)) == 1:
        return None
    result = spearmanr(one, two)
    return float(result.statistic), float(result.pvalue)
