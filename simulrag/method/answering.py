"""Step 2: m closed-book answers to the question; the simulator is not shown."""

from __future__ import annotations

from simulrag.method.asking import together
from simulrag.models.base import Asker
from simulrag.task import Task

CLOSED_BOOK = Task("closed_book", tokens=250)


async def closed_book_answers(question: str, ask: Asker, samples: int) -> tuple[str, ...]:
    """``samples`` answers; the sample index is part of each call's key, so they are m calls."""
    completions = await together(
        ask.ask(CLOSED_BOOK, sample_index=j, question=question) for j in range(samples)
    )
    return tuple(completion.text.strip() for completion in completions)
