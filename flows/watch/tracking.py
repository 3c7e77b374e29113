"""What is seen of a stage: its progress, and a flow of Prefect where somebody watches.

Progress is a bar on a terminal, a line a minute elsewhere, in the Prefect UI the same. Counted are
model calls of those that a plan expects or, where none was made, questions in a step.

Prefect watches; it decides nothing. A task is a step over a chunk of questions with no cache of
its own, since every call inside is in the call cache. The body runs once whatever becomes of the
server, and where no server answers Prefect is not imported.

Names, handbooks, results and replies are written by somebody else. A control character in them
could set a window's title, clear the screen, hide a link or write to the clipboard: what reaches
the terminal is words and colours, and no other command to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

from flows.watch import server
from simulrag.errors import EnvironmentFault

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway

PLANNED = "SIMULRAG_PLANNED"
"""Environment variable: by stage how many calls are stored, and how many there will be."""

SHOWN_FAILURES = 200
REASON_CHARACTERS = 300

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
        """Estimate by the pace so far: of the calls that were made, or of the questions."""
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
        with (
            _bar(name, progress)
            if bars
            else nullcontext(lambda: _write_line(name, progress)) as update
        ):
            moving = asyncio.create_task(move(update))
            try:
                yield
            finally:
                moving.cancel()
    finally:
        if words := progress.words(ended=True):
            sys.stderr.write(f"  {name}: {words}\n")


def _write_line(name: str, progress: Progress) -> None:
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
    """Return what ``planned`` was told of a stage; zeros where nobody planned."""
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


PERIOD = "SIMULRAG_PERIOD"
"""Environment variable: the period of the refresh that a stage is part of."""
PARENT = "SIMULRAG_FLOW_RUN"
"""Environment variable: the id of the flow run that stages stand under."""

Result = TypeVar("Result")
Cell = str | int | float | None
Rows = Sequence[dict[str, Cell]]


class Tracker:
    """What a stage's body tells whoever watches; the terminal shows its ``progress``."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.gateway: Gateway | None = None  # of a stage that asks a model, for its cost

    async def step(self, name: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run one step over one chunk."""
        self.progress.step = name
        return await work()

    def expect(self, more: int) -> None:
        """Say that so many units of work are still to come, at least: one is a question in a step.

        A stage of several passes may say all of them ahead; none is counted twice.
        """
        self.progress.total = max(self.progress.total, self.progress.done + more)

    def advance(self) -> None:
        """Say that one of them is done."""
        self.progress.done += 1

    def warn(self, text: str) -> None:
        """Say what its reader has to know of a stage that comes through."""
        warn(text)

    async def markdown(self, key: str, text: str, about: str) -> None:
        """Show a text of the stage."""

    async def table(self, key: str, rows: Callable[[], Rows], about: str) -> None:
        """Show rows that have the same columns; they are made only where Prefect watches."""


async def tracked(
    stage: str,
    run_name: str,
    tags: Sequence[str],
    body: Callable[[Tracker], Awaitable[Result]],
    root: Path | None,
) -> Result:
    """Run a stage's body as a flow run, or plainly where ``root`` is None or no server answers."""
    url = None if root is None else server.find(root)
    if root is None or url is None:
        return await body(Tracker())
    server.configure(root)
    os.environ["PREFECT_API_URL"] = url
    try:
        from flows.watch.prefect_tracker import run_as_flow
    except ImportError as error:
        warn(f"Prefect cannot be imported, so nobody watches this stage: {short(error)}")
        return await body(Tracker())
    return await run_as_flow(stage, run_name, tags, body)


def say(text: str) -> None:
    """Write a line on stderr, and in the log of the flow run where one is watched."""
    sys.stderr.write(f"{text}\n")
    log = logging.getLogger(server.SAID)
    log.propagate = False  # it is on the terminal
    log.setLevel(logging.INFO)
    if text.strip():
        log.info(text)


def short(error: BaseException) -> str:
    """Return an error as one short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def warn(text: str) -> None:
    """Write one line on stderr, yellow on a terminal."""
    say(f"\x1b[33mwarning: {text}\x1b[0m" if sys.stderr.isatty() else f"warning: {text}")


def titled_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    failures: Sequence[tuple[str, str, str]] = (),
) -> str:
    """Write a stage as Markdown: a table, then what failed (question, step, reason)."""
    lines = [f"## {title}", "", _line(columns), _line(["---"] * len(columns)), *map(_line, rows)]
    if failures:
        lines += ["", "| failed question | step | reason |", "| --- | --- | --- |"]
        lines += [_line(map(cell, cells)) for cells in failures[:SHOWN_FAILURES]]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"| {len(failures) - SHOWN_FAILURES} more | | see the stage's out |")
    return "\n".join(lines)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def cell(text: str) -> str:
    """Write a text in one line that cannot end the cell it stands in."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if len(plain) <= REASON_CHARACTERS else plain[: REASON_CHARACTERS - 1] + "…"


def little_checked(checked: int, with_evidence: int, answered: int, least: float) -> str:
    """Write the warning of answers that were never checked; "" where at least this share was."""
    if answered == 0 or checked / answered >= least:
        return ""
    parts = []
    if with_evidence < answered:
        parts.append(
            f"{answered - with_evidence} of {answered} answers rest on no evidence: no simulator "
            "run and no passage was there"
        )
    if checked < with_evidence:
        parts.append(
            f"{with_evidence - checked} of {answered} answers have evidence that decided none of "
            "their claims"
        )
    return f"{'; '.join(parts)}, so nothing in them was checked"


_COLOUR_OR_OTHER = re.compile(
    r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)"
)


class Guarded:
    """A text stream that shows U+FFFD for a control character and for half a surrogate pair.

    Tabs and newlines stay.
    Sequences that set colours pass to a terminal, as our own tables have them; a file gets none.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text that is left."""
        colours = self.stream.isatty()
        shown = _COLOUR_OR_OTHER.sub(lambda m: m[1] if m[1] and colours else "\ufffd", text)
        return self._told(self.stream.write, shown) if shown else 0  # click tries it with nothing

    def flush(self) -> None:
        """Write what is in the buffer."""
        self._told(self.stream.flush)

    def _told(self, work: Callable[..., Result], *what: str) -> Result:
        try:
            return work(*what)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # told once is enough
            if isinstance(error, BrokenPipeError):
                raise
            raise EnvironmentFault(f"{self.name} cannot be written: {error.strerror}") from None

    def writelines(self, lines: list[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self.stream, name)


def guard() -> None:
    """Guard both streams of this process, to its end: a traceback goes there too."""
    sys.stderr = Guarded(sys.stderr or Path(os.devnull).open("w"))  # noqa: SIM115
    if sys.stdout is None:
        raise EnvironmentFault("stdout is closed; send it somewhere, to /dev/null if nowhere")
    sys.stdout = Guarded(sys.stdout)


def own(stream: TextIO) -> TextIO:
    """Return the stream below, for what moves the cursor and shows words of ours alone."""
    return stream.stream if isinstance(stream, Guarded) else stream
