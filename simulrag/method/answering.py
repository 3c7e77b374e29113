"""Steps 2 and 10: what a model writes in prose, closed-book answers and final ones."""

from __future__ import annotations

from simulrag.method.asking import together
from simulrag.models.base import Asker
from simulrag.task import Task

CLOSED_BOOK = Task("closed_book", tokens=250)
FINAL = Task("final", tokens=290)


async def closed_book_answers(question: str, ask: Asker, samples: int) -> tuple[str, ...]:
    """``samples`` answers by a model that is not shown the simulator.

    The sample index is part of each call's key, so they are as many calls.
    """
    completions = await together(
        ask.ask(CLOSED_BOOK, sample_index=j, question=question) for j in range(samples)
    )
    return tuple(completion.text.strip() for completion in completions)


async def synthesize(question: str, claims: tuple[str, ...], ask: Asker) -> str:
    """Connected prose from the kept claims alone; the simulator's context is not shown."""
    completion = await ask.ask(FINAL, question=question, claims=list(claims))
    return completion.text.strip()
