"""Progress of a stage on the terminal: a bar where there is one, a line a step where not."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

from simulrag.method.concurrency import together

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


def say(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"{text}\n")


async def each(
    label: str,
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[Result]],
    advance: Callable[[], None] = lambda: None,
) -> list[Result]:
    """``work`` over all items at once (the gateway and the simulator bound what is in flight).

    ``advance`` is called after each item.
    """
    todo = list(items)
    with _bar() if sys.stderr.isatty() else nullcontext() as progress:
        bar = None if progress is None else progress.add_task(label, total=len(todo))

        async def one(item: Item) -> Result:
            result = await work(item)
            if progress is not None and bar is not None:
                progress.advance(bar)
            advance()
            return result

        results = await together(one(item) for item in todo)
    if progress is None:
        say(f"  {label}: {len(todo)} done")
    return results


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True, highlight=False))
