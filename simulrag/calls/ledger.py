"""What the paid calls of a cache took: every row's usage, and what was billed without a row.

Nothing is kept twice. A call's row holds its usage already; only usage that no row holds (a reply
that was billed and could not be used, a call that ``refresh`` overwrote) gets a row of its own,
``spent/``. Calls that cost nothing, or that came from an export and were paid for elsewhere, are
not marked as paid and do not count.

Processes that share a cache see each other's amounts under way in ``hold/`` rows, which end by
themselves: they are judged by the clock that leases are judged by (see ``leases``).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import ValidationError

from simulrag.calls.keys import canonical_json
from simulrag.calls.rows import PaidRow, Rows
from simulrag.calls.stored import CALL_PREFIX, HOLD_PREFIX, SPENT_PREFIX, SpentUsage
from simulrag.errors import CacheError
from simulrag.records import Record, Usage

T = TypeVar("T")


class Spent(Record):
    """Usage that one model call took. ``key``: the call's, None where it left no row.

    ``service``: how it was bought, see StoredCall.
    """

    key: str | None
    provider: str
    endpoint: str
    model: str
    usage: Usage
    service: str
    time: str

    @property
    def name(self) -> tuple[str, str, str]:
        """Provider, endpoint, model."""
        return self.provider, self.endpoint, self.model


class Hold(Record):
    """What a process has under way: an upper bound of money (USD) and tokens."""

    usd: float = 0.0
    tokens: int = 0


class Ledger:
    """The usage of a cache, read as it grows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._owner = HOLD_PREFIX + secrets.token_hex(16)
        self._last_row = 0
        self._seen: set[str] = set()
        self._together = False

    def news(self) -> list[Spent]:
        """What was committed since the last time, by any process; first everything.

        Raises CacheError where a row cannot be read.
        """
        try:
            found = self._read(lambda: self._rows.paid(self._last_row))
            # What a row held that this ledger has counted is no news when it is overwritten.
            spent = [_spent(row) for row in found if row.replaces not in self._seen]
        except (ValidationError, ValueError, TypeError) as error:
            raise self._unreadable(error) from error
        if found:
            self._last_row = found[-1].position
        self._seen.update(item.key for item in spent if item.key is not None)
        return spent

    def others(self) -> Hold:
        """What other living processes have under way, together."""
        now = self._rows.now_s()
        total = Hold()
        try:
            holds = self._read(lambda: self._rows.items(HOLD_PREFIX))
        except ValueError as error:
            raise self._unreadable(error) from error
        for row, text in holds.items():
            if row == self._owner:
                continue
            try:
                content = json.loads(text)
                left_s = float(content["until_s"]) - now
                if 0 < left_s <= float(content["lasts_s"]):  # else ended, or of before a reboot
                    total = Hold(
                        usd=total.usd + float(content["usd"]),
                        tokens=total.tokens + int(content["tokens"]),
                    )
            except (ValueError, TypeError, KeyError):
                continue  # it holds nothing that was paid for
        return total

    def hold(self, amount: Hold, lasts_s: float) -> None:
        """Tell the others what is under way here, for ``lasts_s`` seconds from now."""
        content = {
            "usd": amount.usd,
            "tokens": amount.tokens,
            "lasts_s": lasts_s,
            "until_s": self._rows.now_s() + lasts_s,
        }
        self._rows.set(self._owner, canonical_json(content))

    def close(self) -> None:
        """Nothing is under way here any more."""
        self._rows.patiently_now(lambda: self._rows.delete(self._owner))

    def note(self, name: tuple[str, str, str], usage: Usage, service: str = "") -> None:
        """Keep usage that was billed and that no call's row holds; ``service``: how it was."""
        # Chosen once: the same row, also where its writing is tried again.
        owner, time = secrets.token_hex(16), datetime.now(UTC).isoformat(timespec="milliseconds")
        taken = usage.model_dump()
        self._rows.patiently_now(
            lambda: note_spent(self._rows, owner, name, taken, time, service=service)
        )

    async def together(self, work: Callable[[], T]) -> T:
        """``work()`` while no other process writes; a kill may, a power cut may not keep it."""

        def turn() -> T:
            self._together = True
            try:
                return self._rows.transact(work, durable=False)
            finally:
                self._together = False

        return await self._rows.patiently(turn)

    def _read(self, read: Callable[[], T]) -> T:
        """In a turn, a busy store ends it to be tried again as a whole; else it is waited for."""
        return read() if self._together else self._rows.patiently_now(read)

    def _unreadable(self, error: Exception) -> CacheError:
        first = str(error).partition("\n")[0]
        return CacheError(
            f"what was spent cannot be read from {self._rows.place}: {first}. See which row "
            "is wrong with `simulrag cache verify`"
        )


def note_spent(
    rows: Rows,
    owner: str,
    name: tuple[str, str, str],
    usage: dict[str, int],
    time: str,
    *,
    service: str = "",
    replaces: str | None = None,
) -> None:
    """Write a row of usage that no call's row holds (any more).

    ``owner``: random, and the same where the writing is repeated: usage must count once.
    """
    provider, endpoint, model = name
    spent = SpentUsage(
        request={"provider": provider, "endpoint": endpoint, "model": model},
        usage=usage,
        time=time,
        service=service,
        replaces=replaces,
    )
    rows.set(SPENT_PREFIX + owner, canonical_json(spent.model_dump()))


def _spent(row: PaidRow) -> Spent:
    is_call = row.row.startswith(CALL_PREFIX)
    return Spent(
        key=row.row.removeprefix(CALL_PREFIX) if is_call else None,
        provider=row.provider or "",
        endpoint=row.endpoint or "",
        model=row.model or "",
        usage=Usage.model_validate_json(row.usage or "{}"),
        service=row.service or "",
        time=row.time or "",
    )
