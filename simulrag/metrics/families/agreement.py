"""How well people agree with each other, and the judge with them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from simulrag.judging.people import LABELERS_PER_CLAIM, Settled
from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import Floats, Ints, estimate, scenario_weights
from simulrag.metrics.table import Measurement, filled
from simulrag.records import LabelValue

PEOPLE = "people"
JUDGE = "judge and people"
JUDGE_DECIDED = "judge and people, where the judge decided"
"""Between whom labels are compared; two annotators are ``A and B``."""
_VALUES: tuple[LabelValue, ...] = ("true", "false", "undecided")
_ONE_LABEL = "undefined: only one label was ever given"
_NO_CLAIM = "undefined: no claim"

Said = tuple[str, LabelValue, LabelValue]
"""A question, and what two said of a claim of it."""


@metric("agreement")
def agreement(data: DomainData) -> Iterator[Measurement]:
    """Measure the share of equal labels and kappa, with 95 % intervals over scenarios.

    ``people``: the share of pairs of labels that are equal, and Fleiss' kappa (1971) over the
    claims with the most frequent number of labels, which it needs to be one. Each two annotators,
    and the judge with what people settled on: the share and Cohen's kappa (1960). Disputes that
    nobody settled are no word of the people's; adjudications are no independent label. The judge's
    undecided claims are offered to people first, so the last line leaves them out. The three labels
    are categories of equal distance. No row where nobody labelled.
    """
    scenario_of = {asked.question_id: asked.scenario_id for asked in data.questions}
    # Only scenarios in which people labelled are resampled.
    asked = sorted({scenario_of[question] for question, _ in data.settled})
    index = {name: place for place, name in enumerate(asked)}
    scenario = {name: index[of] for name, of in scenario_of.items() if of in index}
    groups = [group for group in data.settled.values() if len(group.given) >= LABELERS_PER_CLAIM]
    settings = data.settings
    weights = scenario_weights(len(asked), settings.bootstrap, settings.seed, data.domain)

    def row(between: str, name: str, values: Floats, n: int, undefined: str) -> Measurement:
        place = Measurement(family="agreement", domain=data.domain, metric=name, n=n)
        return filled(place, estimate(values, len(asked), undefined), more={"between": between})

    if groups:
        counts = np.array(
            [[sum(g.label == value for g in group.given) for value in _VALUES] for group in groups]
        )
        where = np.array([scenario[group.first.question_id] for group in groups])
        raters = counts.sum(axis=1)
        whole = raters == int(np.bincount(raters).argmax())
        share = equal_pairs(counts, weights[:, where])
        kappa = fleiss_kappa(counts[whole], weights[:, where[whole]])
        yield row(PEOPLE, "agreement", share, len(groups), _NO_CLAIM)
        yield row(PEOPLE, "fleiss_kappa", kappa, int(whole.sum()), _ONE_LABEL)
    for between, pairs in _pairs(data):
        confusion = np.zeros((len(asked), len(_VALUES), len(_VALUES)))
        for question, first, second in pairs:
            confusion[scenario[question], _VALUES.index(first), _VALUES.index(second)] += 1
        tables = np.tensordot(weights, confusion, axes=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            equal = np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2))
        yield row(between, "agreement", equal, len(pairs), _NO_CLAIM)
        yield row(between, "cohen_kappa", cohen_kappa(tables), len(pairs), _ONE_LABEL)


def _pairs(data: DomainData) -> Iterator[tuple[str, list[Said]]]:
    """Who is compared, and on each shared claim: the question and the two labels."""
    labelled = {
        key: {row.annotator: row.label for row in group.given}
        for key, group in data.settled.items()
    }
    names = sorted({name for labels in labelled.values() for name in labels})
    for first, second in combinations(names, 2):
        shared = [
            (question, labels[first], labels[second])
            for (question, _), labels in labelled.items()
            if first in labels and second in labels
        ]
        if shared:
            yield f"{first} and {second}", shared
    judged = [
        (key[0], label, group.label)
        for key, group in data.settled.items()
        if _settled(group) and (label := data.judge.get(key)) is not None
    ]
    decided = [pair for pair in judged if pair[1] != "undecided"]
    if judged:
        yield JUDGE, judged
    if decided:
        yield JUDGE_DECIDED, decided


def _settled(group: Settled) -> bool:
    return not group.disputed or group.adjudication is not None


def equal_pairs(counts: Ints, weights: Floats) -> Floats:
    """Compute for each resample the share of pairs of labels of one claim that are equal.

    ``counts``: claims x labels; ``weights``: resamples x claims.
    """
    raters = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = (weights @ (counts * (counts - 1)).sum(axis=1)) / (
            weights @ (raters * (raters - 1))
        )
    return share


def fleiss_kappa(counts: Ints, weights: Floats) -> Floats:
    """Fleiss' kappa (1971), a resample each; every claim has one and the same number of labels.

    ``counts`` and ``weights`` as for ``equal_pairs``. NaN where only one label was given.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = weights @ counts
        by_chance = ((drawn / drawn.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        kappa: Floats = (equal_pairs(counts, weights) - by_chance) / (1 - by_chance)
    return np.where(np.isfinite(kappa), kappa, np.nan)


def cohen_kappa(tables: Floats) -> Floats:
    """Compute Cohen's kappa (1960) of each table of counts (resamples x labels x labels)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = tables / tables.sum(axis=(1, 2), keepdims=True)
        by_chance = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
        kappa: Floats = (np.trace(shares, axis1=1, axis2=2) - by_chance) / (1 - by_chance)
    return np.where(np.isfinite(kappa), kappa, np.nan)
