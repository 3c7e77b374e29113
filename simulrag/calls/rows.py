"""The seam between the cache and what keeps it: text under text names, nothing ever dropped.

A row's name begins with what it holds (``call/``, ``lease/``, ...). Two stores keep rows: a folder
for the processes of one machine (``folder_rows``), and Redis for those of many (``redis_rows``).
"""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from simulrag.errors import EnvironmentFault

T = TypeVar("T")

PATIENCE_S = 60.0


class BusyError(Exception):
    """The store cannot do it just now (a lock, a conflict, a server that restarts): try again."""


class PaidRow(NamedTuple):
    """What a row says that was paid for. ``position``: rows committed later have higher ones."""

    position: int
    row: str
    provider: str | None
    endpoint: str | None
    model: str | None
    usage: str | None
    time: str | None
    service: str | None
    replaces: str | None


class ScannedRow(NamedTuple):
    """A row as it lies there; ``problem``: why its text cannot be trusted."""

    row: str
    text: str
    problem: str | None = None


class Rows(ABC):
    """The text rows of one cache.

    Every operation may raise EnvironmentFault (the store cannot be used), CacheError (it is
    damaged, a row was tampered with), or BusyError after a short wait; ``patiently`` and
    ``patiently_now`` wait longer. A row that was acknowledged outlives kill -9 of this process and
    of the store.
    """

    place: str
    """Where the rows lie, for messages."""

    @abstractmethod
    def get(self, row: str) -> str | None:
        """The text of a row, None where there is none. Raises CacheError for a tampered row."""

    @abstractmethod
    def names(self, prefix: str) -> list[str]:
        """The names of the rows that begin with ``prefix`` (to its slash), sorted."""

    @abstractmethod
    def items(self, prefix: str) -> dict[str, str]:
        """The rows of a small kind (leases, holds) by name."""

    @abstractmethod
    def paid(self, after: int) -> list[PaidRow]:
        """The ``spent/`` rows and paid ``call/`` rows above a position, in order.

        Raises ValueError for a row that cannot be read.
        """

    @abstractmethod
    def scan(self, prefix: str = "") -> Iterator[ScannedRow]:
        """The rows that begin with ``prefix``, sorted by name, without trusting them."""

    @abstractmethod
    def set(self, row: str, text: str) -> None:
        """Write a row, committed on return (inside ``transact``: with its transaction)."""

    @abstractmethod
    def delete(self, row: str) -> None:
        """Remove a row if it is there."""

    @abstractmethod
    def transact(self, work: Callable[[], T], *, durable: bool = True) -> T:
        """Run ``work`` (short, never waiting) as if no other process wrote meanwhile.

        It may be run again: whatever it does outside of the rows must bear that. Not ``durable``:
        a power cut, but no kill, may undo it (leases).
        """

    @abstractmethod
    def now_s(self) -> float:
        """The clock, in seconds, that all who share these rows judge leases by."""

    @abstractmethod
    def close(self) -> None:
        """Close this thread's connection."""

    @abstractmethod
    def _lost_patience(self, error: BusyError) -> EnvironmentFault:
        """What to say when the store stayed busy."""

    async def patiently(self, work: Callable[[], T]) -> T:
        """``work()``, tried again for up to a minute while busy; the event loop runs meanwhile."""
        last = time.monotonic() + PATIENCE_S
        while True:
            try:
                return work()
            except BusyError as error:
                if time.monotonic() > last:
                    raise self._lost_patience(error) from error
            await asyncio.sleep(_pause_s())

    def patiently_now(self, work: Callable[[], T]) -> T:
        """The same outside an event loop."""
        last = time.monotonic() + PATIENCE_S
        while True:
            try:
                return work()
            except BusyError as error:
                if time.monotonic() > last:
                    raise self._lost_patience(error) from error
            time.sleep(_pause_s())


def _pause_s() -> float:
    return random.uniform(0.005, 0.05)  # noqa: S311 - spreads the waiters
