"""Whether an answer fits its question, and which of its sentences take away from that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from simulrag.records import Record

Scorer = Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]
"""How well each text fits a query: a reranker's scores, or similarities. Any scale."""


class LeftOut(Record):
    """What each sentence adds to the fit of an answer: the score with it less that without it.

    ``score``: of the whole answer. ``shares``: one a sentence, in the answer's order. ``order``:
    the sentences' indices by falling share; ``below_zero``: those that take away.
    """

    score: float
    shares: tuple[float, ...]
    order: tuple[int, ...]
    below_zero: tuple[int, ...]


async def asked_back(question: str, asked: Sequence[str], score: Scorer) -> float | None:
    """Mean similarity of a question with those that a model asked back; None without any."""
    raise NotImplementedError


async def leave_one_out(
    question: str, parts: Sequence[str], score: Scorer, *, intro: str = ""
) -> LeftOut | None:
    """Eq. 3 of SCORE over the sentences or paragraphs of an answer.

    None where there is one part and no ``intro``: without it nothing is left to score.
    """
    raise NotImplementedError
