"""What an answer owes to each piece of evidence.

Eq. 4 of SCORE from teacher-forced log-probabilities, and two measures under names of their own for
where no provider has any. Neither of the two is context use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from simulrag.errors import InputError
from simulrag.method.numbers import numbers
from simulrag.records import DECIDED, VerdictStatus

_ROUNDING = 1e-6
"""Servers round in single precision: the most that a log-probability is above 0."""


def confidence(logprobs: Sequence[float]) -> float | None:
    """f(a|X): the geometric mean of the probabilities of an answer's tokens (natural logs).

    None for an answer without tokens. Raises InputError for what is no log-probability.
    """
    for at, value in enumerate(logprobs):
        if math.isnan(value) or value > _ROUNDING:
            raise InputError(f"token {at}: {value} is no log-probability (at most 0)")
    return min(1.0, math.exp(fmean(logprobs))) if len(logprobs) else None


def context_use(full: float, without: Sequence[float]) -> tuple[float | None, float | None]:
    """(CU, CU_rel): the mean loss of confidence when one piece of evidence is left out.

    ``full``: f(a|q,C); ``without``: f(a|q,C less c_i), one a piece. CU_rel is a fraction, and is
    CU / ``full`` identically: a rescaling, no second finding. (None, None) without evidence;
    CU_rel None where ``full`` is 0. Raises InputError for what is no probability.
    """
    if not len(without):
        return None, None
    use = fmean(losses(full, without))
    return use, use / full if full else None


def losses(full: float, without: Sequence[float]) -> tuple[float, ...]:
    """Delta_i = f(a|q,C) - f(a|q,C less c_i), one a piece of evidence. Raises InputError."""
    return tuple(gain(full, one) for one in without)


def gain(full: float, alone: float) -> float:
    """f(a|q,C) - f(a|q): what all evidence adds.

    Leaving out one of two duplicates costs nothing; this they cannot hide. Raises InputError.
    """
    for value in (full, alone):
        if not 0 <= value <= 1:
            raise InputError(f"a confidence is a probability from 0 to 1, not {value}")
    return full - alone


def evidence_used(
    claims: Sequence[str], context: Sequence[str], question: str = ""
) -> float | None:
    """The share of the evidence's sentences of which some claim states a number. Numbers only.

    ``context``: the sentences; those without a number that ``question`` does not give already are
    left out. A claim states a number at its own rounding; what else it says is not looked at, so
    an equal number of another thing counts too. None where no sentence is left.
    """
    given = {number.value for number in numbers(question)}
    said = [number for claim in claims for number in numbers(claim) if number.value not in given]
    facts = [[n for n in numbers(text) if n.value not in given] for text in context]
    used = [any(one.repeats(n) for one in said for n in fact) for fact in facts if fact]
    return fmean(used) if used else None


def evidence_dependence(
    full: Sequence[VerdictStatus], without: Sequence[Sequence[VerdictStatus]]
) -> tuple[float | None, ...]:
    """By sentence of evidence: the share of decided claims that turn indeterminate without it.

    ``full``: the verdicts with all evidence; ``without``: those without sentence i, of the same
    claims. Claims in error count in neither. None where no claim was decided both times.

    Raises InputError for verdicts on another number of claims.
    """
    found = []
    for at, verdicts in enumerate(without):
        if len(verdicts) != len(full):
            raise InputError(
                f"without sentence {at} there are {len(verdicts)} verdicts on {len(full)} claims"
            )
        lost = [
            there == "indeterminate"
            for here, there in zip(full, verdicts, strict=True)
            if here in DECIDED and there != "error"
        ]
        found.append(fmean(lost) if lost else None)
    return tuple(found)
