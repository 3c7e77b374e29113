"""How specific an answer is, by the votes of judges over four details of each claim.

Eq. 1 of SCORE (arXiv 2602.10017). Votes only: the judges are asked elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

from simulrag.errors import InputError

Mark = Literal["yes", "no", "n/a"]
"""The detail is stated and evidence holds it; is stated and it does not; is not stated."""

Marks = Sequence[Mark] | None
"""One judge's marks of one claim, a detail each; None: this judge gave none."""

DETAILS = ("scenario", "place", "time", "magnitude")
WEIGHTS = (0.6, 0.2, 0.1, 0.1)
"""The paper's, in the order of ``DETAILS``."""


def majority(votes: Sequence[Mark]) -> Mark:
    """The most frequent mark; any tie at the top, and no vote at all, is "n/a"."""
    ranked = Counter(votes).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return "n/a"
    return ranked[0][0]


def voted(labels: Sequence[Sequence[Marks]]) -> list[tuple[Mark, ...]]:
    """The judges' majority, by claim and detail. ``labels[judge][claim][detail]``.

    Raises InputError for marks that are no marks, and for judges who saw another number of claims
    or details.
    """
    claims = _checked(labels)
    width = next((len(marks) for judge in labels for marks in judge if marks is not None), 0)
    return [
        tuple(
            majority([marks[detail] for marks in claim if marks is not None])
            for detail in range(width)
        )
        for claim in claims
    ]


def detail_shares(labels: Sequence[Sequence[Marks]]) -> tuple[float | None, ...]:
    """By detail: the share of "yes" among the claims that state it; None where none does."""
    shares = []
    for marks in zip(*voted(labels), strict=True):
        stated = [mark == "yes" for mark in marks if mark != "n/a"]
        shares.append(sum(stated) / len(stated) if stated else None)
    return tuple(shares)


def specificity(
    labels: Sequence[Sequence[Marks]],
    weights: Sequence[float] = WEIGHTS,
    *,
    undefined_as_zero: bool = False,
) -> float | None:
    """The weighted mean of the details' shares, over the details that are stated at all.

    ``labels[judge][claim][detail]``: "yes", "no" or "n/a". None where no claim states any detail
    that has a weight; the published code has 0.0 there (``undefined_as_zero``).

    Raises InputError as ``voted``, and for weights that are negative or not one a detail.
    """
    shares = detail_shares(labels)
    if any(weight < 0 for weight in weights) or (shares and len(weights) != len(shares)):
        raise InputError(
            f"{len(shares)} details need as many weights, none negative; given {list(weights)}"
        )
    pairs = [
        (weight, share)
        for weight, share in zip(weights, shares, strict=False)
        if share is not None and weight
    ]
    total = sum(weight for weight, _ in pairs)
    if not total:
        return 0.0 if undefined_as_zero else None
    return sum(weight * share for weight, share in pairs) / total


def _checked(labels: Sequence[Sequence[Marks]]) -> list[tuple[Marks, ...]]:
    """By claim, every judge's marks. Raises InputError."""
    known = get_args(Mark)
    widths = set()
    for judge, claims in enumerate(labels):
        for claim, marks in enumerate(claims):
            wrong = next((mark for mark in marks or () if mark not in known), None)
            if wrong is not None:
                raise InputError(
                    f"judge {judge}, claim {claim}: {wrong!r} is none of {', '.join(known)}"
                )
            if marks is not None:
                widths.add(len(marks))
    if len(widths) > 1 or len({len(claims) for claims in labels}) > 1:
        raise InputError(
            "every judge marks the same claims and details: give None for a claim that a judge "
            "left out, never a shorter list"
        )
    return list(zip(*labels, strict=True))
