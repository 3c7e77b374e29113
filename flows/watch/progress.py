"""Progress of a stage on the terminal: a bar where there is one, a line a step where not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from simulrag.method.concurrency import together

Item = TypeVar("Item")
Result = TypeVar("Result")

console = Console(stderr=True, highlight=False)


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
    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as progress:
        bar = progress.add_task(label, total=len(todo))

        async def one(item: Item) -> Result:
            result = await work(item)
            progress.advance(bar)
            advance()
            return result

        results = await together(one(item) for item in todo)
    if not console.is_terminal:
        console.print(f"  {label}: {len(todo)} done")
    return results
