"""Whether an answer fits its question, and which of its sentences take away from that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from statistics import fmean

from simulrag.records import Record

Scorer = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]
"""How well each text fits a query: a reranker's scores, or similarities. Any scale."""


class LeftOut(Record):
    """What each part adds to the fit of an answer: the score with it less that without it.

    ``score``: of the whole answer. ``shares``: one a part, in the answer's order. ``order``: the
    parts' indices by falling share; ``below_zero``: those that take away.
    """

    score: float
    shares: tuple[float, ...]
    order: tuple[int, ...]
    below_zero: tuple[int, ...]


async def asked_back(question: str, asked: Sequence[str], score: Scorer) -> float | None:
    """Mean similarity of a question with those that a model asked back; None without any."""
    return fmean(await score(question, asked)) if asked else None


async def leave_one_out(question: str, parts: Sequence[str], score: Scorer) -> LeftOut | None:
    """Eq. 3 of SCORE over the sentences or paragraphs of an answer.

    None where there is nothing to leave out, or nothing would be left to score.
    """
    if len(parts) < 2:
        return None
    texts = [_joined(*parts)]
    texts += [_joined(*parts[:at], *parts[at + 1 :]) for at in range(len(parts))]
    whole, *without = await score(question, texts)
    shares = tuple(whole - one for one in without)
    return LeftOut(
        score=whole,
        shares=shares,
        order=tuple(sorted(range(len(shares)), key=lambda at: -shares[at])),
        below_zero=tuple(at for at, share in enumerate(shares) if share < 0),
    )


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part.strip())
