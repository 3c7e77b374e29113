"""Who may make a call now, among processes.

A lease is a text row with a random owner, valid for ``LEASE_S`` and renewed every third of that
while its owner lives. It is judged by the one clock that all who share the rows can read: for a
folder the system's monotonic clock, which no correction of the time of day moves, for Redis the
server's time. After a reboot the one starts anew and the other may be set back, so a lease that
claims to be valid for longer than any lease can be is dead too. A clock set forward breaks a
living owner's lease; then two may call, and the row that is stored first stands (see ``cache``).

A lease holds nothing that was paid for: an unreadable one is simply replaced.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass, field

from simulrag.calls.keys import canonical_json
from simulrag.calls.rows import BusyError, Rows
from simulrag.calls.stored import LEASE_PREFIX, parse_json
from simulrag.errors import CacheError, SimulRAGError

LEASE_S = 15.0
RENEWALS_PER_LEASE = 3
RENEWED_AT_ONCE = 100


@dataclass(frozen=True)
class Lease:
    """One owner's claim to one call. ``seconds``: how long it holds without renewal."""

    key: str
    seconds: float = LEASE_S
    owner: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def row(self) -> str:
        """The name of the row."""
        return LEASE_PREFIX + self.key


def is_free(rows: Rows, lease: Lease) -> bool:
    """No other living owner has it."""
    held = _read(rows, lease)
    if held is None or held[0] == lease.owner:
        return True
    left_s = held[1] - rows.now_s()
    return not 0 < left_s <= max(LEASE_S, lease.seconds)


def take(rows: Rows, lease: Lease) -> bool:
    """Take it or take it over, in the caller's transaction; False while another owner lives."""
    if not is_free(rows, lease):
        return False
    _write(rows, lease)
    return True


def release(rows: Rows, lease: Lease) -> None:
    """Remove it in the caller's transaction, if it is still its owner's."""
    held = _read(rows, lease)
    if held is not None and held[0] == lease.owner:
        rows.delete(lease.row)


class Renewals:
    """The leases that this process holds, renewed together in the background while it lives.

    A stage may wait in line with thousands of calls at once: they share one task, and a transaction
    holds at most ``RENEWED_AT_ONCE`` of them so that the event loop is never held up for long.
    """

    def __init__(self, rows: Rows, lease_s: float) -> None:
        self._rows = rows
        self._pause_s = lease_s / RENEWALS_PER_LEASE
        self._held: dict[str, Lease] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, lease: Lease) -> None:
        """Renew this lease from now on."""
        self._held[lease.owner] = lease
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._renew())

    def end(self, lease: Lease) -> None:
        """Renew it no more."""
        self._held.pop(lease.owner, None)
        if not self._held and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._pause_s)
            leases = list(self._held.values())
            for start in range(0, len(leases), RENEWED_AT_ONCE):
                self._renew_some(leases[start : start + RENEWED_AT_ONCE])
                await asyncio.sleep(0)

    def _renew_some(self, leases: list[Lease]) -> None:
        def work() -> None:
            for lease in leases:
                held = _read(self._rows, lease)
                if lease.owner in self._held and held is not None and held[0] == lease.owner:
                    _write(self._rows, lease)

        # The next turn comes well before a lease ends; where the folder itself has failed, storing
        # the result will say so.
        with suppress(BusyError, SimulRAGError):
            self._rows.transact(work, durable=False)


def _write(rows: Rows, lease: Lease) -> None:
    until_s = rows.now_s() + lease.seconds
    rows.set(lease.row, canonical_json({"owner": lease.owner, "until_s": until_s}))


def _read(rows: Rows, lease: Lease) -> tuple[str, float] | None:
    try:
        text = rows.get(lease.row)
        if text is None:
            return None
        content = parse_json(text)
        return str(content["owner"]), float(content["until_s"])
    except (CacheError, ValueError, TypeError, KeyError):
        return None
