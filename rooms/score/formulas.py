"""The formulas of SCORE (arXiv 2602.10017) for one answer: specificity, relevance, context use.

Specificity (Eq. 1) is by the votes of judges over four details of each claim; the judges are asked
elsewhere. Relevance: whether an answer fits its question, and which of its sentences take away from
that (Eq. 3). Context use (Eq. 4): what an answer owes to each piece of evidence, from
teacher-forced log-probabilities; and two measures under names of their own for where no provider
has any. Neither of the two is context use.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from statistics import fmean
from typing import Literal

from simulrag.errors import InputError
from simulrag.method.numbers import numbers
from simulrag.records import DECIDED, VerdictStatus

Mark = Literal["yes", "no", "n/a"]
"""The detail is stated and evidence holds it; is stated and it does not; is not stated."""

Marks = Sequence[Mark] | None
"""One judge's marks of one claim, a detail each; None: this judge gave none."""

DETAILS = ("scenario", "place", "time", "magnitude")
WEIGHTS = (0.6, 0.2, 0.1, 0.1)
"""The paper's, in the order of ``DETAILS``."""


def majority(votes: Sequence[Mark]) -> Mark:
    """Return the most frequent mark; any tie at the top, and no vote at all, is "n/a"."""
    ranked = Counter(votes).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return "n/a"
    return ranked[0][0]


def voted(labels: Sequence[Sequence[Marks]]) -> list[tuple[Mark, ...]]:
    """Return the judges' majority, by claim and detail. ``labels[judge][claim][detail]``.

    A claim that no judge marked states no detail.
    """
    return [
        tuple(
            majority([marks[detail] for marks in claim if marks is not None])
            for detail in range(len(DETAILS))
        )
        for claim in zip(*labels, strict=True)
    ]


def detail_shares(labels: Sequence[Sequence[Marks]]) -> tuple[float | None, ...]:
    """Return by detail the share of "yes" among the claims that state it; None where none does."""
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
    """Return the weighted mean of the details' shares, over the details that are stated at all.

    ``labels[judge][claim][detail]``: "yes", "no" or "n/a". None where no claim states any detail
    that has a weight; the published code has 0.0 there (``undefined_as_zero``).
    """
    shares = detail_shares(labels)
    pairs = [(w, s) for w, s in zip(weights, shares, strict=False) if s is not None and w]
    if not pairs:
        return 0.0 if undefined_as_zero else None
    return sum(w * s for w, s in pairs) / sum(w for w, _ in pairs)


Scorer = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]
"""How well each text fits a query: a reranker's scores, or similarities. Any scale."""


async def asked_back(question: str, asked: Sequence[str], score: Scorer) -> float | None:
    """Return a question's mean similarity with those that a model asked back; None without any."""
    return fmean(await score(question, asked)) if asked else None


async def leave_one_out(
    question: str, parts: Sequence[str], score: Scorer
) -> tuple[float, ...] | None:
    """Compute Eq. 3 of SCORE: what each sentence or paragraph adds to the fit of an answer.

    The score with it less that without it, so a part below 0 takes away. None where there is
    nothing to leave out, or nothing would be left to score.
    """
    if len(parts) < 2:
        return None
    texts = [_joined(*parts)]
    texts += [_joined(*parts[:at], *parts[at + 1 :]) for at in range(len(parts))]
    whole, *without = await score(question, texts)
    return tuple(whole - rest for rest in without)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part.strip())


_ROUNDING = 1e-6
"""Servers round in single precision: the most that a log-probability is above 0."""


def confidence(logprobs: Sequence[float]) -> float | None:
    """Return f(a|X): the geometric mean of the probabilities of an answer's tokens.

    ``logprobs`` are natural logs. None for an answer without tokens. Raises InputError for what is
    no log-probability.
    """
    for at, value in enumerate(logprobs):
        if math.isnan(value) or value > _ROUNDING:
            raise InputError(f"token {at}: {value} is no log-probability (at most 0)")
    return min(1.0, math.exp(fmean(logprobs))) if len(logprobs) else None


def context_use(full: float, without: Sequence[float]) -> tuple[float | None, float | None]:
    """Return (CU, CU_rel): the mean loss of confidence without one piece of evidence.

    ``full``: f(a|q,C); ``without``: f(a|q,C less c_i), one a piece. CU_rel is a fraction, and is
    CU / ``full`` identically: a rescaling, no second finding. (None, None) without evidence;
    CU_rel None where ``full`` is 0.
    """
    if not len(without):
        return None, None
    use = fmean(full - value for value in without)
    return use, use / full if full else None


def evidence_used(
    claims: Sequence[str], context: Sequence[str], question: str = ""
) -> float | None:
    """Return the share of the evidence's sentences of which some claim states a number.

    Numbers only. ``context``: the sentences; those without a number that ``question`` does not give
    already are left out. A claim states a number at its own rounding; what else it says is not
    looked at, so an equal number of another thing counts too. None where no sentence is left.
    """
    given = {number.value for number in numbers(question)}
    stated = [number for claim in claims for number in numbers(claim) if number.value not in given]
    facts = [[n for n in numbers(text) if n.value not in given] for text in context]
    used = [any(number.repeats(n) for number in stated for n in fact) for fact in facts if fact]
    return fmean(used) if used else None


def evidence_dependence(
    full: Sequence[VerdictStatus], without: Sequence[Sequence[VerdictStatus]]
) -> tuple[float | None, ...]:
    """Return by sentence the share of decided claims that turn indeterminate without it.

    ``full``: the verdicts with all evidence; ``without``: those without sentence i of it, of the
    same claims. Claims in error count in neither. None where no claim was decided both times.
    """
    shares = []
    for verdicts in without:
        lost = [
            there == "indeterminate"
            for here, there in zip(full, verdicts, strict=True)
            if here in DECIDED and there != "error"
        ]
        shares.append(fmean(lost) if lost else None)
    return tuple(shares)
