"""Several calls at once, none of them lost, and several claims of one question in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from simulrag.errors import ReplyInvalid
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, InvalidReply
from simulrag.task import Task

Result = TypeVar("Result")
One = TypeVar("One")
Two = TypeVar("Two")
Item = TypeVar("Item")
CheckEach = Callable[[Any, Any], object]
AGAIN = 2
"""How often what a reply lacks is asked for."""


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
    claims: Sequence[Any],
    ask: Asker,
    *,
    claims_per_call: int,
    check_each: CheckEach = lambda *_: None,
    named: str = "claims",
    **values: Any,
) -> list[Any]:
    """Ask of each claim, in order, in as few calls as the size allows: what replies say of each.

    The prompt shows a call's claims as ``named``, and ``values`` beside them. ``check_each`` raises
    ValueError where what is said of a claim is impossible, given both. What a reply still lacks
    after its repair is asked for alone: in half the size, then one by one. Raises ModelError where
    one by itself has no valid reply.
    """

    async def whole(part: Sequence[Any], again: int) -> list[Any]:
        def check(reply: Batch) -> None:
            _, problem = _usable(reply, part, check_each)
            if problem:
                raise InvalidReply(problem, reply if len(part) > 1 else None)

        shown: dict[str, Any] = {named: list(part), **values}
        try:
            completion = await ask.ask(task, check=check, **shown)
        except ReplyInvalid:
            if len(part) > 1 or not again:
                raise
            return await whole(part, again - 1)
        found, _ = _usable(completion.parsed, part, check_each)
        left = [at for at in range(len(part)) if at not in found]
        size = -(-len(part) // 2) if again == AGAIN else 1
        # In halves too nothing but prose: all others would be paid for the same.
        first = 1 if not found and again < AGAIN else 0
        rest = await all_of([part[at] for at in left[:first]], 1, again - 1)
        rest += await all_of([part[at] for at in left[first:]], size, again - 1)
        found |= zip(left, rest, strict=True)
        return [found[at] for at in range(len(part))]

    async def all_of(items: Sequence[Any], size: int, again: int) -> list[Any]:
        parts = await together(whole(part, again) for part in batches(items, size))
        return [item for part in parts for item in part]

    return await all_of(claims, claims_per_call, AGAIN)


def _usable(
    reply: Batch, claims: Sequence[Any], check_each: CheckEach
) -> tuple[dict[int, Any], str]:
    """Return what a reply says of each claim, as far as it can be, and what is wrong with it."""
    found, problem = reply.by_claim(len(claims)), reply.problem(len(claims))
    for at, item in list(found.items()):
        try:
            check_each(item, claims[at])
        except ValueError as error:
            problem = problem or str(error)
            del found[at]
    return found, problem


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
