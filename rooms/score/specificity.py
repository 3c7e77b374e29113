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
    given = [marks for judge in labels for marks in judge if marks is not None]
    wrong = next((mark for marks in given for mark in marks if mark not in get_args(Mark)), None)
    if wrong is not None:
        raise InputError(f"a judge's mark is one of {', '.join(get_args(Mark))}, not {wrong!r}")
    if len(set(map(len, given))) > 1 or len(set(map(len, labels))) > 1:
        raise InputError(
            "every judge marks the same claims and details: give None for a claim that a judge "
            "left out, never a shorter list"
        )
    return [
        tuple(
            majority([marks[detail] for marks in claim if marks is not None])
            for detail in range(len(given[0]) if given else 0)
        )
        for claim in zip(*labels, strict=True)
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
    pairs = [(w, s) for w, s in zip(weights, shares, strict=False) if s is not None and w]
    if not pairs:
        return 0.0 if undefined_as_zero else None
    return sum(w * s for w, s in pairs) / sum(w for w, _ in pairs)
