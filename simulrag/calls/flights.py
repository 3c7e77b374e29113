"""Single flight within a process: asking for a key that is under way is waiting for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class Flight(Generic[T]):
    """Work under way for one key, and how many wait for it."""

    task: asyncio.Task[T]
    waiters: int = 0


class Flights(Generic[T]):
    """The work that is under way, by key; bound to one event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, Flight[T]] = {}

    def under_way(self, key: str) -> Flight[T] | None:
        """The flight of a key, if there is one."""
        return self._flights.get(key)

    def start(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> Flight[T]:
        """Begin the work of a key that has none under way."""
        flight = Flight(asyncio.create_task(work()))
        self._flights[key] = flight
        flight.task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    async def wait(self, key: str, flight: Flight[T]) -> T:
        """Its result or its very exception.

        A waiter that is cancelled leaves the others alone; the last one ends the work, and waits
        for that end: nothing goes on, and nothing is paid, that nobody wants any more.
        """
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiters == 1 and not flight.task.done():
                self._land(key, flight)  # whoever asks from now on must not join what is ending
                flight.task.cancel()
                await asyncio.wait({flight.task})
            raise
        finally:
            flight.waiters -= 1

    def _land(self, key: str, flight: Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
