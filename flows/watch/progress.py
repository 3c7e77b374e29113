"""Progress of a stage on the terminal: a bar where there is one, a line a step where not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flows.watch.terminal import own

if TYPE_CHECKING:
    from rich.progress import Progress


def say(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def shown(
    label: str, total: int, advance: Callable[[], None] = lambda: None
) -> Iterator[Callable[[], None]]:
    """Show a step's progress; what is yielded is called after each item, and calls ``advance``."""
    if not sys.stderr.isatty():
        yield advance
        say(f"  {label}: {total} done")
        return
    with _bar() as progress:
        bar = progress.add_task(label, total=total)

        def advanced() -> None:
            progress.advance(bar)
            advance()

        yield advanced


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn())
    console = Console(file=own(sys.stderr), highlight=False)
    return Progress(*columns, TimeElapsedColumn(), console=console)
