"""How far two runs over the same questions agree: what batching or another merging changes.

Only what both runs did to the same thing is compared: merging where the answers were taken apart
alike, boundary and verdicts on claims of the same text. Nothing here says which run is right.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from simulrag.records import Answer, Claim, claim_hash


@dataclass(frozen=True)
class RunAgreement:
    """One figure. ``value`` None: nothing to compare, or undefined (kappa of a constant)."""

    name: str
    value: float | None
    unit: str
    n: int


def agreements(one: Sequence[Answer], two: Sequence[Answer]) -> list[RunAgreement]:
    """All figures over the questions that both runs completed."""
    pairs = _both(one, two)
    claims = [pair for first, second in pairs for pair in _same_texts(first, second)]
    return [
        *_merging(pairs),
        *_judgements("boundary", [(a.boundary, b.boundary) for a, b in claims]),
        *_judgements("verdict", [(_status(a), _status(b)) for a, b in claims]),
        _corrections(claims),
    ]


def partition_agreement(
    one: Sequence[Sequence[Hashable]], two: Sequence[Sequence[Hashable]]
) -> float:
    """Adjusted Rand index of two partitions of the same items: 1 alike, about 0 by chance.

    Each partition is a sequence of groups. The index is Hubert and Arabie's (1985), as
    scikit-learn computes it. Raises ValueError where the items differ.
    """
    from sklearn.metrics import adjusted_rand_score

    first, second = _groups(one), _groups(two)
    if first.keys() != second.keys():
        raise ValueError("the two partitions hold different items")
    items = list(first)
    return float(adjusted_rand_score([first[i] for i in items], [second[i] for i in items]))


def _groups(partition: Sequence[Sequence[Hashable]]) -> dict[Hashable, int]:
    return {item: number for number, group in enumerate(partition) for item in group}


def _both(one: Sequence[Answer], two: Sequence[Answer]) -> list[tuple[Answer, Answer]]:
    others = {answer.question_id: answer for answer in two if answer.failure is None}
    return [
        (answer, others[answer.question_id])
        for answer in one
        if answer.failure is None and answer.question_id in others
    ]


def _merging(pairs: Sequence[tuple[Answer, Answer]]) -> Iterator[RunAgreement]:
    """The mean over questions, since a pooled index would reward the many separate questions."""
    scores = [
        partition_agreement(*([claim.sources for claim in answer.claims] for answer in pair))
        for pair in pairs
        if pair[0].answer_claims == pair[1].answer_claims and any(pair[0].answer_claims)
    ]
    n = len(scores)
    yield RunAgreement("merging_adjusted_rand", fmean(scores) if n else None, "mean a question", n)
    alike = sum(score == 1.0 for score in scores)
    yield RunAgreement("merging_identical", alike / n if n else None, "share of questions", n)


def _same_texts(one: Answer, two: Answer) -> Iterator[tuple[Claim, Claim]]:
    others = {claim_hash(claim.text): claim for claim in two.claims}
    for claim in one.claims:
        other = others.get(claim_hash(claim.text))
        if other is not None:
            yield claim, other


def _status(claim: Claim) -> str | None:
    return None if claim.verdict is None else claim.verdict.status


def _judgements(
    name: str, pairs: Sequence[tuple[bool | str | None, bool | str | None]]
) -> Iterator[RunAgreement]:
    asked = [(str(a), str(b)) for a, b in pairs if a is not None and b is not None]
    n = len(asked)
    alike = sum(a == b for a, b in asked) / n if n else None
    yield RunAgreement(f"{name}_same", alike, "share of claims", n)
    yield RunAgreement(f"{name}_kappa", _kappa(asked), "Cohen's kappa", n)


def _kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa (1960); None where both runs gave every claim one and the same judgement."""
    if len({value for pair in pairs for value in pair}) < 2:
        return None
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([a for a, _ in pairs], [b for _, b in pairs]))


def _corrections(claims: Sequence[tuple[Claim, Claim]]) -> RunAgreement:
    both = [(a.after, b.after) for a, b in claims if _status(a) == _status(b) == "contradicted"]
    n = len(both)
    same = sum(claim_hash(a) == claim_hash(b) for a, b in both)
    return RunAgreement("correction_same", same / n if n else None, "share of contradicted", n)
