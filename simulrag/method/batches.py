"""Several claims of one question in one call, and which part of the reply is whose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from simulrag.method.concurrency import together
from simulrag.models.base import Asker
from simulrag.models.replies import Numbered
from simulrag.task import Task

Item = TypeVar("Item")
NumberedT = TypeVar("NumberedT", bound=Numbered)


async def ask_in_batches(
    task: Task,
    claims: Sequence[str],
    ask: Asker,
    *,
    claims_per_call: int,
    **values: Any,
) -> list[Any]:
    """The reply to each claim, in order: the reply's ``claims`` of as few calls as the size allows.

    ``values`` are what the task's prompt shows beside its list of claims. Raises ModelError where
    a call has no valid reply.
    """

    async def one(part: Sequence[str]) -> list[Any]:
        def check(reply: Any) -> None:
            in_order(reply.claims, len(part))

        completion = await ask.ask(task, check=check, claims=list(part), **values)
        return in_order(completion.parsed.claims, len(part))

    parts = await together(one(part) for part in batches(claims, claims_per_call))
    return [reply for part in parts for reply in part]


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in order, in as few parts of at most ``size`` as there can be, of even lengths.

    Even, because a model's attention to an item falls with the number beside it: 17 and 17, not
    30 and 4. Raises ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"a batch holds at least one item, not {size}")
    parts = -(-len(items) // size)
    for part in range(parts):
        yield items[len(items) * part // parts : len(items) * (part + 1) // parts]


def in_order(items: Sequence[NumberedT], count: int) -> list[NumberedT]:
    """The reply's items by the claim that they speak of, for ``count`` claims numbered from 0.

    Raises ValueError, in words that a model can act on, unless each number stands there exactly
    once: with one missing or doubled, nobody can tell which claims the others were meant for.
    """
    numbers = [item.index for item in items]
    expected = range(count)
    problems = {
        "missing": sorted(set(expected) - set(numbers)),
        "repeated": sorted({number for number in numbers if numbers.count(number) > 1}),
        "unknown": sorted(set(numbers) - set(expected)),
    }
    found = [f"{name}: {', '.join(map(str, which))}" for name, which in problems.items() if which]
    if found:
        raise ValueError(
            f"give each claim's index, 0 to {count - 1}, exactly once; {'; '.join(found)}"
        )
    return sorted(items, key=lambda item: item.index)
