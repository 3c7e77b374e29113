"""How far raters agree, and how far two measures go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Correlation:
    """A correlation coefficient, its two-sided p-value, and the number of pairs."""

    value: float
    p: float
    n: int


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa (1971); ``counts[item][label]``: how many raters gave it.

    None where one label alone was ever given, or nothing was. Raises InputError where items have
    different numbers of ratings, or fewer than two.
    """
    raise NotImplementedError


def spearman(one: Sequence[float], two: Sequence[float]) -> Correlation | None:
    """Spearman's rank correlation, ties by midrank; None for fewer than 3 pairs or a constant."""
    raise NotImplementedError


def pearson(one: Sequence[float], two: Sequence[float]) -> Correlation | None:
    """Pearson's correlation; None for fewer than 3 pairs or a constant."""
    raise NotImplementedError
