"""Causal Intervened Likelihood (CIL) of PROPHET (arXiv 2504.01509v1, equations 3 and 7).

CIL_i = P(Y = truth | do(X_i = 1)) - P(Y = truth | do(X_i = 0)), where X_i says that what article i
reports happened. Each term is the back-door adjustment over N_i, the articles of the w groups
before: the sum over all assignments of N_i of P(Y = truth | X_i, N_i) P(N_i). Both factors are
observed chances, which somebody states. It rests on three assumptions of the paper: an article
depends on earlier ones alone, on none more than w groups before, and on none of its own group.

What the published texts leave open or contradict, and what is done here:

- CIL needs the truth. Articles chosen by it ("CIL-high") are an oracle's, no retrieval method.
- 2^|N_i| assignments cannot be asked where the window holds 30 articles. The ``nearest`` k by
  rating are enumerated and the others held at "happened"; the result's name says ``cil[k=4,w=3]``.
- Stated joint chances need not sum to 1: they are normalised, and their sum is in the result.
- w is 3 groups of 10 days (v1); a later note of the authors says 30 days, which is the same.
- Table 2 prints CIL times 100; Figure 3 has 0.67 (naive) and 0.50 (APP) where Table 2 has 0.07 and
  1.47; CIL-high has a Brier score of 15.47 in Figure 3 and 16.03 in Table 3; section 5.2 says that
  GPT-4o states the chances and appendix A.2 says GPT-4o-mini. Nothing here takes a side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

WINDOW = 3
NEAREST = 4


@dataclass(frozen=True)
class Conditional:
    """Asks for the chance that Y is yes, given that ``item`` happened or not and its past."""

    item: int
    occurs: bool
    happened: frozenset[int]
    absent: frozenset[int]


@dataclass(frozen=True)
class Course:
    """Asks for the chance that of these items some happened and the others did not."""

    happened: frozenset[int]
    absent: frozenset[int]


Query = Conditional | Course
Answer = Callable[[Query], float]


@dataclass(frozen=True)
class Intervened:
    """One item's CIL (-1 to 1), None with the reason in ``failure``.

    ``past``: |N_i|. ``held``: how many of those were not enumerated but held at "happened".
    ``joint_sum``: what the stated joint chances summed to before they were normalised.
    """

    value: float | None
    past: int
    held: int
    joint_sum: float = 1.0
    failure: str | None = None


@dataclass(frozen=True)
class Cil:
    """``name`` holds the caps (``cil[k=4,w=3]``); ``items`` are in the order given."""

    name: str
    items: tuple[Intervened, ...]


def cil(
    groups: Sequence[int],
    answer: Answer,
    *,
    truth: bool,
    ratings: Sequence[float] | None = None,
    window: int = WINDOW,
    nearest: int = NEAREST,
) -> Cil:
    """Return CIL of items by the time group of each (a whole number that grows with time).

    ``answer`` states a chance (0 to 1; ValueError otherwise) and is asked once a query; joint
    chances are shared by the items of a group. ``ratings``: how relevant an item is; without, the
    latest of a window are the nearest. Costs at most 2^(nearest + 1) + 2^nearest queries an item.
    Of an item whose window is empty it is the plain difference.
    """
    if window < 0 or nearest < 0:
        raise ValueError(f"window and nearest are at least 0, not {window} and {nearest}")
    if ratings is not None and len(ratings) != len(groups):
        raise ValueError(f"{len(ratings)} ratings do not fit {len(groups)} items")
    known: dict[Query, float] = {}

    def stated(query: Query) -> float:
        if query not in known:
            chance = float(answer(query))
            if not 0 <= chance <= 1:  # also where it is not a number
                raise ValueError(f"a chance lies between 0 and 1; {query} has {chance}")
            known[query] = chance
        return known[query]

    items = []
    for item in range(len(groups)):
        past = [n for n in range(len(groups)) if 0 < groups[item] - groups[n] <= window]
        past.sort(key=lambda n: (-ratings[n] if ratings else 0.0, -groups[n], n))
        items.append(_intervened(item, past[:nearest], frozenset(past[nearest:]), stated, truth))
    return Cil(f"cil[k={nearest},w={window}]", tuple(items))


def queries(
    groups: Sequence[int],
    *,
    ratings: Sequence[float] | None = None,
    window: int = WINDOW,
    nearest: int = NEAREST,
) -> list[Query]:
    """Return everything that ``cil`` asks, so that all of it can be asked at once."""
    asked: dict[Query, None] = {}

    def note(query: Query) -> float:
        asked[query] = None
        return 0.5

    cil(groups, note, truth=True, ratings=ratings, window=window, nearest=nearest)
    return list(asked)


def _intervened(
    item: int, enumerated: Sequence[int], held: frozenset[int], stated: Answer, truth: bool
) -> Intervened:
    assignments = [
        (
            held | {n for n, yes in zip(enumerated, row, strict=True) if yes},
            frozenset(n for n, yes in zip(enumerated, row, strict=True) if not yes),
        )
        for row in product((True, False), repeat=len(enumerated))
    ]
    joint = [stated(Course(*assignment)) if enumerated else 1.0 for assignment in assignments]
    total, past = math.fsum(joint), len(enumerated) + len(held)
    if total == 0:
        reason = "every stated joint chance is 0, so none of them can be weighed"
        return Intervened(None, past, len(held), total, reason)
    # All conditionals are asked, also at weight 0: which calls are made hangs on no reply.
    terms = []
    for assignment, weight in zip(assignments, joint, strict=True):
        with_it = stated(Conditional(item, True, *assignment))
        without = stated(Conditional(item, False, *assignment))
        terms.append(weight / total * (with_it - without))
    difference = math.fsum(terms)
    return Intervened(difference if truth else -difference, past, len(held), total)
