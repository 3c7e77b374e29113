"""How far a stage is: a bar on a terminal, a line a minute elsewhere, in the Prefect UI the same.

Counted are model calls of those that a plan expects or, where none was made, questions in a step.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from flows.watch.terminal import own

PLANNED = "SIMULRAG_PLANNED"
"""Environment variable: by stage how many calls are stored, and how many there will be."""

BAR_S = 0.5
LINE_S = 60.0


class Metered(NamedTuple):
    """Model calls that a stage used so far: made by it, and stored before; ``spent`` in words."""

    made: int
    stored: int
    spent: str = ""


@dataclass
class Progress:
    """What a stage has done: ``done`` of ``total`` questions in a step, and calls.

    ``planned``: how many calls it will use, as a plan says; 0: nobody planned. ``meter`` counts
    those so far, once the stage has a model. ``since``: when some were made for the first time that
    somebody looked, and how many; replays before that are faster.
    """

    planned: int = 0
    done: int = 0
    total: int = 0
    step: str = ""
    meter: Callable[[], Metered] | None = None
    began_s: float = field(default_factory=time.monotonic)
    since: tuple[float, int] | None = None

    @property
    def share(self) -> float:
        """From 0 to 1."""
        done, total = self.done, self.total
        if self.planned and self.meter is not None:
            made, stored, _ = self.meter()
            done, total = made + stored, self.planned
        return min(1.0, done / total) if total else 0.0

    def words(self, *, ended: bool = False) -> str:
        """``212 of about 1,095 calls (180 cached, 32 made), 7 of 30 steps, about 12 min left``."""
        parts = [f"{self.done:,} of {self.total:,} steps"] if self.total else []
        left_s = None
        if self.meter is not None:
            made, stored, spent = self.meter()
            of = f" of about {self.planned:,}" if self.planned > made + stored and not ended else ""
            parts.insert(0, f"{made + stored:,}{of} calls ({stored:,} cached, {made:,} made)")
            parts += [spent] if spent else []
            left_s = self._left_s(made) if made else None
        if ended:
            parts += [duration(time.monotonic() - self.began_s)] if parts else []
        elif left_s is not None:
            parts.append(f"about {duration(left_s)} left")
        return ", ".join(parts)

    def look(self) -> None:
        """Notice the first calls that are made: the time left goes by those after them."""
        if self.since is None and self.meter is not None and (made := self.meter().made):
            self.since = (time.monotonic(), made)

    def _left_s(self, made: int) -> float | None:
        """By the pace so far: of the calls that were made, or of the questions."""
        now_s = time.monotonic()
        if not self.planned or self.meter is None:
            left = self.total - self.done
            return (now_s - self.began_s) * left / self.done if self.done else None
        self.look()
        began_s, before = self.since or (now_s, made)
        left = self.planned - sum(self.meter()[:2])
        return (now_s - began_s) * left / (made - before) if left > 0 and made > before else None


@asynccontextmanager
async def shown(name: str, progress: Progress) -> AsyncIterator[None]:
    """Show a stage's progress on stderr for as long as the context is open, and how it ended."""
    bars = sys.stderr.isatty()

    async def move(update: Callable[[], None]) -> None:
        said_s = time.monotonic()
        while True:
            await asyncio.sleep(BAR_S)
            progress.look()
            if bars or time.monotonic() - said_s >= LINE_S:
                said_s = time.monotonic()
                update()

    try:
        with _bar(name, progress) if bars else nullcontext(lambda: _line(name, progress)) as update:
            moving = asyncio.create_task(move(update))
            try:
                yield
            finally:
                moving.cancel()
    finally:
        if words := progress.words(ended=True):
            sys.stderr.write(f"  {name}: {words}\n")


def _line(name: str, progress: Progress) -> None:
    if words := progress.words():
        sys.stderr.write(f"  {name}: {words}\n")
        sys.stderr.flush()


@contextmanager
def _bar(name: str, progress: Progress) -> Iterator[Callable[[], None]]:
    """A bar that is gone at the end; what is yielded moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    words = TextColumn("{task.fields[words]}", table_column=Column())  # which wraps
    columns = TextColumn("{task.description}"), BarColumn(16), words
    console = Console(file=own(sys.stderr), highlight=False)
    with Bars(*columns, console=console, auto_refresh=False, transient=True) as bars:
        bar = bars.add_task(name, total=1.0, words="")
        yield lambda: bars.update(
            bar, completed=progress.share, words=progress.words(), refresh=True
        )


@contextmanager
def planned(calls: Mapping[str, tuple[int, int]]) -> Iterator[None]:
    """Have the stages that run meanwhile, here or as children, know what a plan counted of them.

    By ``answer@urban``: how many calls are stored, and of how many.
    """
    os.environ[PLANNED] = json.dumps(calls)
    try:
        yield
    finally:
        del os.environ[PLANNED]


def planned_calls(stage: str) -> tuple[int, int]:
    """What ``planned`` was told of a stage; zeros where nobody planned."""
    stored, calls = json.loads(os.environ.get(PLANNED, "{}")).get(stage, (0, 0))
    return int(stored), int(calls)


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``2 h 20 min`` or ``3 days 4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h"
