"""The rows in Redis, for workers on many machines.

A hash for each kind of row (``simulrag:call``, ``simulrag:lease``, ...), text under the rest of
the name. No key ever expires: leases end by the server's time, as they do in a folder.

A transaction reads what it needs and buffers what it writes; one script then compares and commits.
It refuses where a row that was read has changed since, and the whole is tried again. So no lock can
be left behind, a connection may break at any moment, and a script's writes reach the append-only
file together or not at all. A commit whose answer got lost may have happened: what runs in a
transaction bears being run again (see ``fence``).

``simulrag:paid`` orders the rows that were paid for by their commit, and ``simulrag:turn`` counts
the commits that matter to a budget: a transaction that adds up what was paid and is held fails if
either has changed meanwhile.

A command takes about 0.1 ms on loopback and is made in the event loop.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from simulrag.calls.places import RedisPlace
from simulrag.calls.redis_scripts import COMMIT, PAID
from simulrag.calls.redis_server import RedisServer
from simulrag.calls.rows import BusyError, PaidRow, Rows, ScannedRow
from simulrag.calls.stored import CALL_PREFIX, HOLD_PREFIX, SPENT_PREFIX, corrupt, parse_json
from simulrag.errors import EnvironmentFault

if TYPE_CHECKING:
    from redis import Redis

T = TypeVar("T")

KINDS = ("batch", "call", "hold", "lease", "spent", "stage")
ROWS_AT_ONCE = 500

_PAID_MARK = '"paid":true'
"""In the canonical JSON of every call that was paid for (and perhaps of another one)."""


@dataclass
class _Transaction:
    """``reads``: the sha1 of each row that was read, "" for none. ``writes``: None deletes.

    ``turn``: the count of commits before what was paid or is held was read, "" where it was not.
    """

    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str | None] = field(default_factory=dict)
    turn: str = ""


class RedisRows(Rows):
    """The text rows of one Redis database, shared by every process that reaches it.

    ``read_only``: for looking and copying; the server may then be one that could lose rows.
    """

    def __init__(self, place: RedisPlace, *, read_only: bool = False) -> None:
        self.place = str(place)
        self._space = place.space
        self._server = RedisServer(place, trusting=read_only)
        self._commit = self._server.redis.register_script(COMMIT)
        self._paid = self._server.redis.register_script(PAID)
        self._open: _Transaction | None = None
        self.patiently_now(self._server.meet)

    def get(self, row: str) -> str | None:
        _check_text("cache keys are", row)
        if self._open is not None and row in self._open.writes:
            return self._open.writes[row]
        key, name = self._address(row)
        raw: bytes | None = self._ask(lambda redis: redis.hget(key, name))
        if self._open is not None:
            self._open.reads.setdefault(row, "" if raw is None else _sha1(raw))
        if raw is None:
            return None
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise corrupt(self.place, row, "it is no UTF-8 text") from error

    def names(self, prefix: str) -> list[str]:
        kind = prefix.partition("/")[0]
        names: list[bytes] = self._ask(lambda redis: redis.hkeys(self._key(kind)))
        rows = (f"{kind}/{_shown(name)}" for name in names)
        return sorted(row for row in rows if row.startswith(prefix))

    def items(self, prefix: str) -> dict[str, str]:
        self._note_turn()
        kind = prefix.partition("/")[0]
        found: dict[bytes, bytes] = self._ask(lambda redis: redis.hgetall(self._key(kind)))
        return {f"{kind}/{_shown(name)}": _shown(raw) for name, raw in found.items()}

    def paid(self, after: int) -> list[PaidRow]:
        self._note_turn()
        rows: list[PaidRow] = []
        found: list[bytes] | None = None
        while found is None or len(found) == 3 * ROWS_AT_ONCE:
            found = self._ask(partial(self._next_paid, after))
            for row, position, text in zip(found[::3], found[1::3], found[2::3], strict=True):
                after, name = int(position), row.decode()
                content = parse_json(text.decode())
                if name.startswith(SPENT_PREFIX) or content.get("paid") is True:
                    rows.append(_paid_row(after, name, content))
        return rows

    def scan(self, prefix: str = "") -> Iterator[ScannedRow]:
        for kind in KINDS:
            if prefix and kind != prefix.partition("/")[0]:
                continue
            key = self._key(kind)
            names = sorted(self._hash_names(key))
            for start in range(0, len(names), ROWS_AT_ONCE):
                some = names[start : start + ROWS_AT_ONCE]
                for name, raw in zip(some, self._texts(key, some), strict=True):
                    if raw is not None:
                        yield _scanned(f"{kind}/{_shown(name)}", raw)

    def exist(self) -> bool:
        """Whether there is any row."""
        keys = [self._key(kind) for kind in KINDS]
        return bool(self._wait(lambda redis: redis.exists(*keys)))

    def set(self, row: str, text: str) -> None:
        _check_text("cache keys are", row)
        _check_text(f"the cache row {row} must be", text)
        self._write(row, text)

    def delete(self, row: str) -> None:
        self._write(row, None)

    def transact(self, work: Callable[[], T], *, durable: bool = True) -> T:  # noqa: ARG002
        """Run ``work`` and commit what it wrote; the server flushes every commit."""
        self._open = _Transaction()
        try:
            result = work()
        finally:
            done, self._open = self._open, None
        if done.writes:
            self._send(done)
        return result

    def now_s(self) -> float:
        """The server's time."""
        seconds, microseconds = self._ask(lambda redis: redis.time())
        return int(seconds) + int(microseconds) / 1e6

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _lost_patience(self, error: BusyError) -> EnvironmentFault:
        return self._server.lost_patience(error)

    def _write(self, row: str, text: str | None) -> None:
        if self._open is not None:
            self._open.writes[row] = text
        else:
            self._send(_Transaction(writes={row: text}))

    def _send(self, done: _Transaction) -> None:
        """Commit. Raises BusyError where another process was faster."""
        arguments: list[str] = [done.turn, str(len(done.reads))]
        for row, digest in done.reads.items():
            arguments += (*self._address(row), digest)
        for row, text in done.writes.items():
            arguments += (*self._address(row), row, _effect(row, text), text or "")
        keys = [self._key("turn"), self._key("paid")]
        if not self._ask(lambda _: self._commit(keys=keys, args=arguments)):
            raise BusyError("other processes were faster")

    def _note_turn(self) -> None:
        """In a transaction: what is added up from now on must be as it is when it commits."""
        if self._open is not None and not self._open.turn:
            raw: bytes | None = self._ask(lambda redis: redis.get(self._key("turn")))
            self._open.turn = "0" if raw is None else raw.decode()

    def _next_paid(self, after: int, _: Redis) -> list[bytes]:
        keys, arguments = [self._key("paid"), f"{self._space}:"], [after, ROWS_AT_ONCE]
        found: list[bytes] = self._paid(keys=keys, args=arguments)
        return found

    def _hash_names(self, key: str) -> list[bytes]:
        names: list[bytes] = self._wait(lambda redis: redis.hkeys(key))
        return names

    def _texts(self, key: str, names: list[bytes]) -> list[bytes | None]:
        texts: list[bytes | None] = self._wait(lambda redis: redis.hmget(key, names))
        return texts

    def _ask(self, command: Callable[[Redis], Any]) -> Any:
        return self._server.ask(command)

    def _wait(self, command: Callable[[Redis], Any]) -> Any:
        return self.patiently_now(lambda: self._server.ask(command))

    def _key(self, kind: str) -> str:
        return f"{self._space}:{kind}"

    def _address(self, row: str) -> tuple[str, str]:
        kind, _, name = row.partition("/")
        return self._key(kind), name


def _effect(row: str, text: str | None) -> str:
    """What a write means to budgets."""
    if text is None:
        return "delete"
    if row.startswith(HOLD_PREFIX):
        return "hold"
    if row.startswith(SPENT_PREFIX):
        return "paid"
    if row.startswith(CALL_PREFIX):
        return "paid" if _PAID_MARK in text else "free"
    return "plain"


def _paid_row(position: int, row: str, content: dict[str, Any]) -> PaidRow:
    if not isinstance(content.get("request"), dict):
        raise ValueError(f"{row} names no model")
    request = content["request"]
    return PaidRow(
        position,
        row,
        request.get("provider"),
        request.get("endpoint"),
        request.get("model"),
        json.dumps(content.get("usage", {})),
        content.get("time"),
        content.get("service"),
        content.get("replaces"),
    )


def _scanned(row: str, raw: bytes) -> ScannedRow:
    try:
        return ScannedRow(row, raw.decode())
    except UnicodeDecodeError:
        return ScannedRow(row, "", "it is no UTF-8 text")


def _check_text(what: str, value: object) -> None:
    if type(value) is not str:
        raise TypeError(f"{what} text, not {type(value).__name__}")


def _sha1(raw: bytes) -> str:
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
