"""What each item of evidence, or each of two sources, adds to the chance that a claim holds.

Items are numbered 0 to n - 1. ``value(S)`` is a number for the set S of them, such as the chance
that a claim holds with S shown. No function here asks for one set twice. Documents and the
simulator are a game of two players over four conditions, and give the class of a claim.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pydantic import Field

from simulrag.records import Record

Value = Callable[[frozenset[int]], float]

EXACT_UP_TO = 6
"""Items up to which all 2^n sets are asked; beyond, permutations are drawn."""
PERMUTATIONS = 200


@dataclass(frozen=True)
class Valued:
    """A value, and its standard error (0 where it is exact)."""

    value: float
    standard_error: float


def shapley(
    value: Value, n: int, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> list[Valued]:
    """Return the Shapley value of each of ``n`` items; they sum to value(all) - value(none).

    Exact up to ``EXACT_UP_TO`` items, by all 2^n sets. Beyond, the mean over seeded permutations
    (at most permutations * n sets), whose sum is still exact, with its standard error; the i-th
    permutation depends on the seed and i alone, so that more of them keep the earlier. Raises
    ValueError for a value that is not finite: a failure is never a value.
    """
    asked = _once(value)
    if n <= EXACT_UP_TO:
        return [Valued(_exact(asked, n, item), 0.0) for item in range(n)]
    added: list[list[float]] = [[] for _ in range(n)]
    for index in range(permutations):
        order = list(range(n))
        random.Random(f"{seed} {index}").shuffle(order)  # noqa: S311 a seeded draw
        before, shown = asked(frozenset()), set[int]()
        for item in order:
            shown.add(item)
            after = asked(frozenset(shown))
            added[item].append(after - before)
            before = after
    return [_mean(gains) for gains in added]


def leave_one_out(value: Value, n: int) -> list[float]:
    """Return value(all) - value(all but the item), a ranking; two that say the same both get 0."""
    asked, every = _once(value), frozenset(range(n))
    return [asked(every) - asked(every - {item}) for item in range(n)]


def sets_asked(estimate: Callable[[Value], object]) -> list[frozenset[int]]:
    """Return the sets whose values an estimator of this module needs, in its order.

    None of them chooses a set by a value, so a caller whose values cost a call can ask for all of
    them at once.
    """
    asked: dict[frozenset[int], None] = {}

    def note(items: frozenset[int]) -> float:
        asked[items] = None
        return 0.0

    estimate(note)
    return list(asked)


def _exact(value: Value, n: int, item: int) -> float:
    others = [other for other in range(n) if other != item]
    return math.fsum(
        (value(frozenset(before) | {item}) - value(frozenset(before)))
        / (n * math.comb(n - 1, size))
        for size in range(n)
        for before in combinations(others, size)
    )


def _mean(added: list[float]) -> Valued:
    mean = math.fsum(added) / len(added)
    variance = math.fsum((gain - mean) ** 2 for gain in added) / (len(added) - 1)
    return Valued(mean, math.sqrt(variance / len(added)))


def _once(value: Value) -> Value:
    """Return ``value``, asked once a set. Raises ValueError for what is no number."""
    known: dict[frozenset[int], float] = {}

    def asked(items: frozenset[int]) -> float:
        if items not in known:
            number = float(value(items))
            if not math.isfinite(number):
                raise ValueError(f"the value of items {sorted(items)} is {number}, not a number")
            known[items] = number
        return known[items]

    return asked


Support = Literal["simulator", "documents", "both", "neither", "against"]

THRESHOLD = 0.2
"""From which a source counts as supporting (ours; no paper gives one)."""


class FourChances(Record):
    """The chance (0 to 1) that a claim holds with nothing, one source or both sources shown."""

    none: float = Field(ge=0, le=1)
    documents: float = Field(ge=0, le=1)
    simulator: float = Field(ge=0, le=1)
    both: float = Field(ge=0, le=1)


class Shares(Record):
    """What each source adds, -1 to 1; they sum to the chance with both less the one with none."""

    simulator: float
    documents: float


def by_source(conditions: FourChances) -> Shares:
    """Return the Shapley values of the two sources: gains averaged over who is shown first."""
    c = conditions
    return Shares(
        simulator=0.5 * ((c.simulator - c.none) + (c.both - c.documents)),
        documents=0.5 * ((c.documents - c.none) + (c.both - c.simulator)),
    )


def support_of(conditions: FourChances, threshold: float = THRESHOLD) -> Support:
    """Return which source a claim stands on.

    A source with at least ``threshold`` supports it, one with at most -``threshold`` speaks against
    it. ``against`` goes first: no source that speaks for a claim hides another that speaks against
    it.
    """
    # Half a ten-billionth of slack: 0.2 as a difference of two chances is not 0.2 in binary.
    least = threshold - 5e-11
    shares = by_source(conditions)
    if min(shares.simulator, shares.documents) <= -least:
        return "against"
    simulator, documents = shares.simulator >= least, shares.documents >= least
    if simulator and documents:
        return "both"
    if simulator or documents:
        return "simulator" if simulator else "documents"
    return "neither"
