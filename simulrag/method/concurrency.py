"""Several calls at once, none of them lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

Result = TypeVar("Result")
One = TypeVar("One")
Two = TypeVar("Two")


async def together(calls: Iterable[Awaitable[Result]]) -> list[Result]:
    """All results in order. Where one fails the others are waited for, then its error is raised.

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
    first, second = await asyncio.gather(one, two, return_exceptions=True)
    for result in (first, second):
        if isinstance(result, BaseException):
            raise result
    return first, second  # type: ignore[return-value]  # none is an exception
