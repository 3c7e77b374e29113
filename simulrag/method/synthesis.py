"""Step 10: the final answer, written from the kept claims alone."""

from __future__ import annotations

from simulrag.models.base import Asker
from simulrag.task import Task

FINAL = Task("final", tokens=290)


async def synthesize(question: str, claims: tuple[str, ...], ask: Asker) -> str:
    """Connected prose from the claims; the simulator's context is not shown."""
    completion = await ask.ask(FINAL, question=question, claims=list(claims))
    return completion.text.strip()
