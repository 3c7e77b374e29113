"""Documents or simulator: the two-player game over four conditions, and the class of a claim."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simulrag.records import Record

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
    """The Shapley values of the two sources: each one's gain, averaged over who is shown first."""
    c = conditions
    return Shares(
        simulator=0.5 * ((c.simulator - c.none) + (c.both - c.documents)),
        documents=0.5 * ((c.documents - c.none) + (c.both - c.simulator)),
    )


def support_of(conditions: FourChances, threshold: float = THRESHOLD) -> Support:
    """Which source a claim stands on.

    A source with at least ``threshold`` supports it, one with at most -``threshold`` speaks against
    it. ``against`` goes first: no source that speaks for a claim hides another that speaks against
    it. Raises ValueError for a threshold outside (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"the threshold is above 0 and at most 1, not {threshold:g}")
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
