"""Several calls at once, none of them lost, and several claims of one question in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from simulrag.models.base import Asker
from simulrag.models.replies import in_order
from simulrag.task import Task

Result = TypeVar("Result")
One = TypeVar("One")
Two = TypeVar("Two")
Item = TypeVar("Item")


async def together(calls: Iterable[Awaitable[Result]]) -> list[Result]:
    """Gather all results in order. Where one fails the others are waited for, then it is raised.

    asyncio.gather alone would raise at once and leave the others running: paid for, and counted
    or not by the accident of timing.
    """
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def both(one: Awaitable[One], two: Awaitable[Two]) -> tuple[One, Two]:
    """``together`` for two calls whose results are of different types."""
    calls: tuple[Awaitable[Any], ...] = (one, two)
    first, second = await together(calls)
    return first, second


async def ask_of_each(
    alone: Task,
    batched: Task,
    claims: Sequence[str],
    ask: Asker,
    *,
    claims_per_call: int,
    **values: Any,
) -> list[Any]:
    """Ask of each claim, in order; with ``claims_per_call`` 1 each is asked by itself.

    ``alone`` shows one ``claim``, ``batched`` a list of ``claims``; ``values`` are what both show
    beside. Raises ModelError where a call has no valid reply.
    """
    if claims_per_call > 1:
        return await ask_in_batches(batched, claims, ask, claims_per_call=claims_per_call, **values)
    completions = await together(ask.ask(alone, claim=text, **values) for text in claims)
    return [completion.parsed for completion in completions]


async def ask_in_batches(
    task: Task,
    claims: Sequence[str],
    ask: Asker,
    *,
    claims_per_call: int,
    check_each: Callable[[Any], None] | None = None,
    **values: Any,
) -> list[Any]:
    """Ask of each claim, in order, in as few calls as the size allows: each reply's ``claims``.

    ``values`` are what the task's prompt shows beside them. ``check_each`` raises ValueError where
    the reply to a claim is impossible. Raises ModelError where a call has no valid reply.
    """

    async def ask_batch(batch: Sequence[str]) -> list[Any]:
        def check(reply: Any) -> None:
            for item in in_order(reply.claims, len(batch)):
                if check_each is not None:
                    check_each(item)

        completion = await ask.ask(task, check=check, claims=list(batch), **values)
        return in_order(completion.parsed.claims, len(batch))

    replies = await together(ask_batch(batch) for batch in batches(claims, claims_per_call))
    return [item for reply in replies for item in reply]


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Part the items in order, into as few parts of at most ``size`` as can be, of even lengths.

    Even, because a model's attention to an item falls with the number beside it: 17 and 17, not
    30 and 4. Raises ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"a batch holds at least one item, not {size}")
    parts = -(-len(items) // size)
    for part in range(parts):
        yield items[len(items) * part // parts : len(items) * (part + 1) // parts]
