"""Whether people call a question valid: which to ask about first, what they say, an estimate.

A person's word on a question is a label of the claim that its answer is right and it is worth
asking: true is valid. Files, disputes, adjudications are those of ``simulrag.judging.people``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from importlib import resources
from math import log
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from simulrag.errors import InputError
from simulrag.judging.people.labels import WANTED, Key, Settled
from simulrag.judging.people.offering import OfferedClaim
from simulrag.metrics.families.agreement import equal_pairs, fleiss_kappa
from simulrag.metrics.intervals import Estimate, Floats, estimate, ratio, scenario_weights
from simulrag.records import LabelValue, Record, claim_hash
from simulrag.rooms.forms.audits import shown, told
from simulrag.rooms.forms.records import Formed

CONFIDENT = 0.85
"""From this probability of either outcome on, only half of the questions go to people."""
FEWEST = 10
"""Labels that an estimate needs."""
FOLDS = 5
RESAMPLES = 2000
"""Of seeds, for the interval of the share of valid questions."""
FEATURES = ("zero_shot", "same_answer", "terms_in_contexts", "unmatched_numbers", "like_seed")


class Decision(Record):
    """Whether a question goes to people; ``weight``: how many questions it stands for (0: none).

    Each question is decided once, by chances that the weights undo: the weighted share of valid
    ones is unbiased for the questions decided.
    """

    question_id: str
    pair_hash: str
    weight: Literal[0, 1, 2]


class EstimatedValidity(NamedTuple):
    """Questions with their probabilities, and how good these are on labels that were left out.

    ``brier``: the mean squared error of the labelled ones; ``brier_of_share``: of saying the
    labels' own share each time. None where no fold could be fitted.
    """

    questions: list[Formed]
    labels: int
    brier: float | None
    brier_of_share: float | None


def pair(question: Formed) -> str:
    """Question and answer as people judge them."""
    return f"{shown(question)}\n\nAnswer: {told(question)}"


def key(question: Formed) -> Key:
    """Of a person's label; another text of the same question is another pair."""
    return question.question_id, claim_hash(pair(question))


def decide(
    questions: Sequence[Formed], before: Sequence[Decision], *, sample: int | None, seed: int
) -> list[Decision]:
    """The next decisions, the least certain questions first, until ``sample`` of them are offered.

    A confident one is kept by a coin that ``seed`` and its id decide, and then stands for two.
    """
    done = {(one.question_id, one.pair_hash) for one in before}
    left = [question for question in questions if key(question) not in done]
    found: list[Decision] = []
    for question in sorted(left, key=lambda one: (abs(_likely(one) - 0.5), one.question_id)):
        if sample is not None and sum(one.weight > 0 for one in found) >= sample:
            break
        likely = _likely(question)
        coin = random.Random(f"{seed} {question.question_id}").random() < 0.5  # noqa: S311
        sure = max(likely, 1 - likely) > CONFIDENT
        weight: Literal[0, 1, 2] = (2 if coin else 0) if sure else 1
        found.append(
            Decision(question_id=question.question_id, pair_hash=key(question)[1], weight=weight)
        )
    return found


def offered(questions: Sequence[Formed], decisions: Sequence[Decision]) -> list[OfferedClaim]:
    """What people are shown of the questions that go to them, in the decisions' order."""
    by_key = {key(question): question for question in questions}
    found = [by_key[one.question_id, one.pair_hash] for one in decisions if one.weight]
    return [
        OfferedClaim(
            question_id=question.question_id,
            domain=question.source,
            claim_hash=key(question)[1],
            text=pair(question),
            question=shown(question),
            reference=told(question),
            evidence="\n\n".join(context.text for context in question.contexts),
        )
        for question in found
    ]


def config() -> str:
    """The labelling interface (XML) of Label Studio for such tasks."""
    folder = resources.files(__package__)
    return folder.joinpath("validity.xml").read_text(encoding="utf-8")


def judged(question: Formed, settled: Mapping[Key, Settled]) -> bool | None:
    """What people settled on; None where they did not, or were not asked."""
    found = settled.get(key(question))
    return {"true": True, "false": False}.get(found.label) if found is not None else None


def estimate_validity(
    questions: Sequence[Formed], settled: Mapping[Key, Settled]
) -> EstimatedValidity:
    """The probability that people call each question valid, from the features of its audit.

    A logistic regression on standardised features, whose mean probability is the labels' share.
    Labelled questions get theirs from a fit without the questions of their own seed. A question
    without features gets none. Raises InputError where the labels do not do for a fit.
    """
    rows = [i for i, one in enumerate(questions) if set(FEATURES) <= one.valid.features.keys()]
    known = {i: word for i in rows if (word := judged(questions[i], settled)) is not None}
    if len(known) < FEWEST or len(set(known.values())) < 2:
        raise InputError(
            f"{len(known)} labels, {sum(known.values())} of them valid: an estimate needs at least "
            f"{FEWEST} of both kinds; label more (`simulrag forms label`)"
        )
    features = np.array([_features(question) for question in questions])
    labelled = np.array(sorted(known))
    words = np.array([known[i] for i in sorted(known)])
    seeds = np.array([questions[i].scenario_id for i in labelled])
    order = random.Random(0).sample(sorted(set(seeds)), len(set(seeds)))  # noqa: S311
    chances: dict[int, float] = {}
    for fold in range(FOLDS):
        out = np.isin(seeds, order[fold::FOLDS])
        if out.any() and len(set(words[~out])) == 2:
            told_of = _fitted(features[labelled[~out]], words[~out], features[labelled[out]])
            chances |= dict(zip(labelled[out].tolist(), told_of.tolist(), strict=True))
    others = [i for i in rows if i not in known]
    if others:
        told_of = _fitted(features[labelled], words, features[others])
        chances |= dict(zip(others, told_of.tolist(), strict=True))
    tried = [i for i in known if i in chances]
    share = sum(known.values()) / len(known)
    return EstimatedValidity(
        [_with(question, chances.get(i)) for i, question in enumerate(questions)],
        len(known),
        _mean([(chances[i] - known[i]) ** 2 for i in tried]),
        _mean([(share - known[i]) ** 2 for i in tried]),
    )


def _fitted(known: Floats, words: NDArray[np.bool_], asked: Floats) -> Floats:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(known, words)
    chances: Floats = model.predict_proba(asked)[:, 1]
    return chances.round(6)


def _features(question: Formed) -> list[float]:
    found = [question.valid.features.get(name, 0.0) for name in FEATURES]
    stated = min(max(found[0], 0.01), 0.99)
    return [log(stated / (1 - stated)), *found[1:]]


def _likely(question: Formed) -> float:
    """The best that is known before people speak: the estimate, the auditor's word, or nothing."""
    if question.valid.probability is not None:
        return question.valid.probability
    return question.valid.features.get("zero_shot", 0.5)


def _with(question: Formed, probability: float | None) -> Formed:
    validity = question.valid.model_copy(update={"probability": probability})
    return question.model_copy(update={"valid": validity})


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def valid_share(
    questions: Sequence[Formed], decisions: Sequence[Decision], settled: Mapping[Key, Settled]
) -> tuple[Estimate, int]:
    """The weighted share of valid questions among those decided, and the labels behind it.

    The 95 % interval is over seeds. It holds for all questions once every one was decided.
    """
    weight = {(one.question_id, one.pair_hash): one.weight for one in decisions}
    found = [
        (word, weight.get(key(one), 0), one.scenario_id)
        for one in questions
        if (word := judged(one, settled)) is not None
    ]
    seeds = sorted({scenario for _, _, scenario in found})
    place = np.array([seeds.index(scenario) for _, _, scenario in found], dtype=np.int64)
    bottom = np.array([w for _, w, _ in found], dtype=np.float64)
    top = bottom * np.array([word for word, _, _ in found], dtype=np.float64)
    weights = scenario_weights(len(seeds), RESAMPLES, 0, "valid")
    values = ratio(top, bottom, place, weights)
    return estimate(values, len(seeds), "no question that was offered has a settled label"), len(
        found
    )


def agreement(settled: Mapping[Key, Settled]) -> tuple[float, float, int] | None:
    """Share of equal pairs, Fleiss' kappa (1971) and the questions that two people judged, if any.

    The kappa is NaN where one word alone was ever given.
    """
    groups = [one for one in settled.values() if len(one.given) == WANTED]
    if not groups:
        return None
    counts = np.array(
        [
            [sum(g.label == word for g in one.given) for word in get_args(LabelValue)]
            for one in groups
        ]
    )
    each = np.ones((1, len(groups)))
    return float(equal_pairs(counts, each)[0]), float(fleiss_kappa(counts, each)[0]), len(groups)
