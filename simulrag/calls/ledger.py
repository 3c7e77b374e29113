"""What the paid calls of a cache took: every row's usage, and what was billed without a row.

Nothing is kept twice. A call's row holds its usage already; only usage that no row holds (a reply
that was billed and could not be used, a call that ``refresh`` overwrote) gets a row of its own,
``spent/``. Calls that cost nothing, or that came from an export and were paid for elsewhere, are
not marked as paid and do not count.

Processes that share a folder see each other's amounts under way in ``hold/`` rows, which end by
themselves: they are judged by the monotonic clock, as leases are (see ``leases``).
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from simulrag.calls.keys import canonical_json
from simulrag.calls.rows import DATABASE, PATIENCE_S, Rows
from simulrag.calls.stored import CALL_PREFIX, HOLD_PREFIX, SPENT_PREFIX, SpentUsage
from simulrag.errors import CacheError
from simulrag.records import Record, Usage

T = TypeVar("T")

# A new row's rowid is above all others: a call is deleted only to be written anew, after a row of
# its usage.
_NEW = """
SELECT rowid, key, json_extract(value, '$.request.provider'),
       json_extract(value, '$.request.endpoint'), json_extract(value, '$.request.model'),
       json_extract(value, '$.usage'), json_extract(value, '$.time'),
       json_extract(value, '$.service'), json_extract(value, '$.replaces')
FROM Cache
WHERE rowid > ? AND (key GLOB 'spent/*'
                     OR (key GLOB 'call/*' AND json_extract(value, '$.paid')))
ORDER BY rowid
"""
_HOLDS = "SELECT key, value FROM Cache WHERE key >= 'hold/' AND key < 'hold0'"


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
    """The usage of a cache folder, read as it grows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._owner = HOLD_PREFIX + secrets.token_hex(16)
        self._last_row = 0
        self._seen: set[str] = set()
        self._database: sqlite3.Connection | None = None

    def news(self) -> list[Spent]:
        """What was committed since the last time, by any process; first everything.

        Raises CacheError where a row cannot be read.
        """
        try:
            found = self._select(_NEW, self._last_row)
            # What a row held that this ledger has counted is no news when it is overwritten.
            spent = [_spent(row) for row in found if row[-1] not in self._seen]
        except (ValidationError, ValueError, TypeError) as error:
            raise self._unreadable(error) from error
        if found:
            self._last_row = int(found[-1][0])
        self._seen.update(item.key for item in spent if item.key is not None)
        return spent

    def others(self) -> Hold:
        """What other living processes have under way, together."""
        now = time.monotonic()
        total = Hold()
        for row, text in self._select(_HOLDS):
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
            "until_s": time.monotonic() + lasts_s,
        }
        self._rows.set(self._owner, canonical_json(content))

    def close(self) -> None:
        """Nothing is under way here any more."""
        self._rows.patiently_now(lambda: self._rows.delete(self._owner))
        if self._database is not None:
            self._database.close()
            self._database = None

    def note(self, name: tuple[str, str, str], usage: Usage) -> None:
        """Keep usage that was billed and that no call's row holds."""
        self._rows.patiently_now(lambda: note_spent(self._rows, name, usage.model_dump()))

    async def together(self, work: Callable[[], T]) -> T:
        """``work()`` while no other process writes; a kill may, a power cut may not keep it."""
        return await self._rows.patiently(lambda: self._rows.transact(work, durable=False))

    def _select(self, query: str, *values: int) -> list[tuple[str, ...]]:
        try:
            if self._database is None:
                path = self._rows.directory / DATABASE
                where = f"file:{quote(str(path))}?mode=ro"
                self._database = sqlite3.connect(where, uri=True, timeout=PATIENCE_S)
            return self._database.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> CacheError:
        first = str(error).partition("\n")[0]
        return CacheError(
            f"what was spent cannot be read from {self._rows.directory}: {first}. See which row "
            "is wrong with `simulrag cache verify`"
        )


def note_spent(
    rows: Rows,
    name: tuple[str, str, str],
    usage: dict[str, int],
    time: str | None = None,
    *,
    replaces: str | None = None,
) -> None:
    """Write a row of usage that no call's row holds (any more). ``time``: now, unless given."""
    provider, endpoint, model = name
    spent = SpentUsage(
        request={"provider": provider, "endpoint": endpoint, "model": model},
        usage=usage,
        time=time or datetime.now(UTC).isoformat(timespec="milliseconds"),
        replaces=replaces,
    )
    rows.set(SPENT_PREFIX + secrets.token_hex(16), canonical_json(spent.model_dump()))


def _spent(row: tuple[str, ...]) -> Spent:
    _, key, provider, endpoint, model, usage, moment, service, _ = row
    is_call = key.startswith(CALL_PREFIX)
    return Spent(
        key=key.removeprefix(CALL_PREFIX) if is_call else None,
        provider=provider or "",
        endpoint=endpoint or "",
        model=model or "",
        usage=Usage.model_validate_json(usage or "{}"),
        service=service or "",
        time=moment or "",
    )
