"""What an answer owes to each piece of evidence.

Eq. 4 of SCORE from teacher-forced log-probabilities, and two measures under names of their own for
where no provider has any. Neither of the two is context use.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.records import VerdictStatus


def confidence(logprobs: Sequence[float]) -> float | None:
    """f(a|X): the geometric mean of the probabilities of an answer's tokens (natural logs).

    None for an answer without tokens. Raises InputError for a log-probability that is not a number
    or above 0.
    """
    raise NotImplementedError


def context_use(full: float, without: Sequence[float]) -> tuple[float | None, float | None]:
    """(CU, CU_rel): the mean loss of confidence when one piece of evidence is left out.

    ``full``: f(a|q,C); ``without``: f(a|q,C less c_i), one a piece. CU_rel is a fraction, and is
    CU / ``full`` identically: a rescaling, no second finding. (None, None) without evidence;
    CU_rel None where ``full`` is 0.
    """
    raise NotImplementedError


def losses(full: float, without: Sequence[float]) -> tuple[float, ...]:
    """Delta_i = f(a|q,C) - f(a|q,C less c_i), one a piece of evidence."""
    raise NotImplementedError


def gain(full: float, alone: float) -> float:
    """f(a|q,C) - f(a|q): what all evidence adds, which duplicates in it cannot hide."""
    raise NotImplementedError


def evidence_used(claims: Sequence[str], context: Sequence[str]) -> float | None:
    """The share of the context's sentences with a number that some claim states. Numbers only.

    Compares numbers and nothing else; no model is asked. None where no sentence has a number.
    """
    raise NotImplementedError


def evidence_dependence(
    full: Sequence[VerdictStatus], without: Sequence[Sequence[VerdictStatus]]
) -> tuple[float | None, ...]:
    """By sentence of evidence: the share of decided claims that turn indeterminate without it.

    ``full``: the verdicts with all evidence; ``without``: those without sentence i. None where no
    claim was decided, or no decided claim has a verdict without it.
    """
    raise NotImplementedError
