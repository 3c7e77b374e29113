"""How well people agree with each other, and the judge with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from simulrag.judging.people.labels import WANTED, Key, Settled
from simulrag.metrics.intervals import Floats, estimate, scenario_weights
from simulrag.metrics.pool import LabelLookup
from simulrag.metrics.settings import MetricSettings
from simulrag.records import LabelValue

Row = dict[str, object]

PEOPLE = "people"
JUDGE = "judge and people"
JUDGE_DECIDED = "judge and people, where the judge decided"
_VALUES: tuple[LabelValue, ...] = ("true", "false", "undecided")
_ONE_LABEL = "undefined: only one label was ever given"


def agreement(
    domain: str,
    settled: Mapping[Key, Settled],
    judge: LabelLookup,
    scenario_of: Mapping[str, str],
    settings: MetricSettings,
) -> Iterator[Row]:
    """Share of equal labels and kappa, with 95 % intervals over scenarios.

    ``people``: the share of pairs of labels that are equal, and Fleiss' kappa (1971) over the
    claims with the most frequent number of labels, which it needs to be one. Each two annotators,
    and the judge with what people settled on: the share and Cohen's kappa (1960). Disputes that
    nobody settled are no word of the people's; adjudications are no independent label. The judge's
    undecided claims are offered to people first, so the last line leaves them out. The three labels
    are categories of equal distance. No row where nobody labelled.
    """
    groups = [one for one in settled.values() if len(one.given) >= WANTED]
    places = sorted({scenario_of[question] for question, _ in settled})
    index = {name: place for place, name in enumerate(places)}
    weights = scenario_weights(len(places), settings.bootstrap, settings.seed, domain)

    def row(between: str, metric: str, values: Floats, n: int, undefined: str) -> Row:
        result = estimate(values, len(places), undefined)
        return {
            **{"domain": domain, "between": between, "metric": metric, "value": result.value},
            **{"lower_95": result.lower_95, "upper_95": result.upper_95, "n": n},
            "reason": result.reason,
        }

    def scenario(question: str) -> int:
        return index[scenario_of[question]]

    if groups:
        yield from _people(groups, weights, scenario, row)
    for between, pairs in _pairs(settled, judge):
        confusion = np.zeros((len(places), len(_VALUES), len(_VALUES)))
        for question, one, other in pairs:
            confusion[scenario(question), _VALUES.index(one), _VALUES.index(other)] += 1
        resampled = np.tensordot(weights, confusion, axes=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            equal = np.trace(resampled, axis1=1, axis2=2) / resampled.sum(axis=(1, 2))
            kappa = _cohen(resampled)
        yield row(between, "agreement", equal, len(pairs), "undefined: no claim")
        yield row(between, "cohen_kappa", kappa, len(pairs), _ONE_LABEL)


def _pairs(
    settled: Mapping[Key, Settled], judge: LabelLookup
) -> Iterator[tuple[str, list[tuple[str, LabelValue, LabelValue]]]]:
    """Who is compared, and on each shared claim: the question and the two labels."""
    said = {
        key: {one.annotator: one.label for one in group.given} for key, group in settled.items()
    }
    names = sorted({name for labels in said.values() for name in labels})
    for one, other in combinations(names, 2):
        shared = [
            (question, labels[one], labels[other])
            for (question, _), labels in said.items()
            if one in labels and other in labels
        ]
        if shared:
            yield f"{one} and {other}", shared
    judged = [
        (key[0], label, group.label)
        for key, group in settled.items()
        if not (group.disputed and group.adjudication is None)
        and (label := judge.get(key)) is not None
    ]
    if judged:
        yield JUDGE, judged
    decided = [pair for pair in judged if pair[1] != "undecided"]
    if decided:
        yield JUDGE_DECIDED, decided


def _cohen(tables: Floats) -> Floats:
    from statsmodels.stats.inter_rater import cohens_kappa

    # It takes no empty table, which a resample without any shared claim is.
    return np.array(
        [cohens_kappa(table, return_results=False) if table.any() else np.nan for table in tables]
    )


def _people(
    groups: Sequence[Settled],
    weights: Floats,
    scenario: Callable[[str], int],
    row: Callable[[str, str, Floats, int, str], Row],
) -> Iterator[Row]:
    from statsmodels.stats.inter_rater import fleiss_kappa

    counts = np.array(
        [[sum(g.label == value for g in one.given) for value in _VALUES] for one in groups]
    )
    place = np.array([scenario(one.first.question_id) for one in groups])
    raters = counts.sum(axis=1)
    equal = (counts * (counts - 1)).sum(axis=1)
    pairs = raters * (raters - 1)
    drawn = weights[:, place]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (drawn @ equal) / (drawn @ pairs)
    yield row(PEOPLE, "agreement", share, len(groups), "undefined: no claim")
    common = int(np.bincount(raters).argmax())
    whole = raters == common

    def kappa(times: NDArray[np.float64]) -> float:
        table = np.repeat(counts[whole], times[whole].astype(int), axis=0)
        return float(fleiss_kappa(table)) if len(table) else float("nan")

    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.array([kappa(times) for times in drawn])
    yield row(PEOPLE, "fleiss_kappa", values, int(whole.sum()), _ONE_LABEL)


def human_rows(domain: str, settled: Mapping[Key, Settled], judge: LabelLookup) -> Iterator[Row]:
    """Each claim that people labelled: what they said, how it was settled, and the judge's word."""
    for (question, claim), group in settled.items():
        if group.adjudication is not None:
            how = "adjudicated"
        elif group.disputed:
            how = "disputed"
        else:
            how = "one annotator" if len(group.given) == 1 else "agreed"
        yield {
            "domain": domain,
            "question_id": question,
            "claim_hash": claim,
            "text": group.first.text,
            "human": group.label,
            "how": how,
            "judge": judge.get((question, claim)) or "",
            "said": group.as_label().reason,
        }
