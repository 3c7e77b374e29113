"""What an answer in the making tells: where it stands, after each reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker, Completion
from simulrag.task import Task


class Progress(NamedTuple):
    """Where an answer stands, told after each reply.

    ``step``: what the model was asked last. ``calls``: replies so far, ``stored`` of them stored
    before. ``runs``: simulator runs made.
    """

    step: str
    calls: int
    stored: int
    runs: int


class Watched:
    """An Asker that tells of each reply."""

    def __init__(
        self,
        asker: Asker,
        cache: CallCache,
        simulations: Simulations,
        tell: Callable[[Progress], None],
    ) -> None:
        self._asker, self._cache, self._simulations, self._tell = asker, cache, simulations, tell
        self._calls = 0

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """See Asker.ask."""
        completion = await self._asker.ask(task, sample_index=sample_index, check=check, **values)
        self._calls += 1
        stored = sum(self._cache.stored_days.values())
        self._tell(Progress(task.step, self._calls, stored, self._simulations.runs))
        return completion


@contextmanager
def on_stderr() -> Iterator[Callable[[Progress], None]]:
    """Show a line that moves on a terminal; elsewhere, as in a notebook, a line a step."""
    from rich.console import Console

    # A notebook's stream calls itself a terminal, and shows what moves a terminal's cursor.
    still = False if Console().is_jupyter else None
    console = Console(stderr=True, force_jupyter=False, force_terminal=still, highlight=False)
    last = ""
    with console.status("asking") as status:

        def tell(now: Progress) -> None:
            nonlocal last
            words = (
                f"{now.step.replace('_', ' ')}: replies {now.calls} ({now.stored} stored before), "
                f"simulator runs {now.runs}"
            )
            status.update(words)
            if not console.is_terminal and now.step != last:
                console.print(words)
            last = now.step

        yield tell
