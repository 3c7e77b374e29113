"""How many calls may be under way at a provider: fewer when it says 'slow down'."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Limiter:
    """At most ``limit`` calls at a time, at most ``ceiling``, in order of arrival.

    The limit is halved when the provider throttles and grows by one for every ``limit`` successes
    (additive increase, multiplicative decrease: Chiu and Jain 1989, the rule of TCP). Attempts that
    had begun before a halving do not halve it again, since they say nothing new. While the
    provider asks to wait (Retry-After), nobody begins. Bound to one event loop.
    """

    def __init__(self, ceiling: int) -> None:
        if ceiling < 1:
            raise ValueError("a limiter lets at least one attempt through")
        self.ceiling = ceiling
        self._limit = float(ceiling)
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._halved_at = float("-inf")
        self._open_at = float("-inf")

    @property
    def limit(self) -> int:
        """Calls that may be under way now."""
        return int(self._limit)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a free place and hold it."""
        await self._enter()
        try:
            yield
        finally:
            self._under_way -= 1
            self._admit()

    async def begin(self) -> float:
        """Wait while the provider asks to; the time of the attempt's begin, in loop seconds."""
        loop = asyncio.get_running_loop()
        # A time that may move while it is waited for, which no Event tells.
        while (pause := self._open_at - loop.time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(pause)
        return loop.time()

    def succeeded(self) -> None:
        """An attempt was answered."""
        self._limit = min(float(self.ceiling), self._limit + 1 / self._limit)
        self._admit()

    def throttled(self, began_at: float, wait_s: float | None = None) -> None:
        """The provider said 'slow down' to an attempt; ``wait_s`` is what it asked to wait."""
        now = asyncio.get_running_loop().time()
        if began_at >= self._halved_at:
            self._limit = max(1.0, self._limit / 2)
            self._halved_at = now
        if wait_s is not None:
            self._open_at = max(self._open_at, now + wait_s)

    async def _enter(self) -> None:
        if self._under_way < self.limit and not self._waiting:
            self._under_way += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # let in and cancelled in the same breath
                self._under_way -= 1
            self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and (self._waiting[0].done() or self._under_way < self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)
