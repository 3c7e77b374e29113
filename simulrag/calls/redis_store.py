"""The rows in Redis, for workers on many machines: a hash for each kind of row, no key expires.

What was acknowledged must outlive kill -9 and a power cut, so a server is used only if it flushes
an append-only file before each answer and never evicts; it is asked when the store is opened.

redis-py itself connects again and repeats a command while the server is away, for about a minute,
and the event loop stands still meanwhile. Every write here may be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulrag.calls.rows import SPENT, corrupt
from simulrag.calls.store import (
    CERTIFICATES_VARIABLE,
    PASSWORD_VARIABLE,
    PATIENCE_S,
    RedisPlace,
    ScannedRow,
)
from simulrag.errors import CacheError, EnvironmentFault

try:
    from redis import Redis
    from redis import exceptions as wrong
    from redis.backoff import ConstantBackoff, NoBackoff
    from redis.retry import Retry
except ImportError as error:
    raise EnvironmentFault(
        "a call cache in Redis needs the package redis: pip install 'simulrag[cluster]'"
    ) from error

ANSWER_S = 5.0
PAUSE_S = 0.25
_PROMISES = {  # settings of redis.conf, and what happens with other values
    "appendonly": ("yes", "rows are gone when it ends"),
    "appendfsync": ("always", "acknowledged rows are gone when it is killed or loses power"),
    "no-appendfsync-on-rewrite": ("no", "nothing is flushed while it rewrites its file"),
    "maxmemory-policy": ("noeviction", "it drops rows when its memory is full"),
}


class RedisStore:
    """As FolderStore. ``read_only``: the server may then be one that could lose rows."""

    def __init__(self, place: RedisPlace, *, read_only: bool = False) -> None:
        self.place = str(place)
        self._space = place.space
        authorities = os.environ.get(CERTIFICATES_VARIABLE) or None
        if place.tls and authorities and not Path(authorities).is_file():
            raise EnvironmentFault(f"{CERTIFICATES_VARIABLE}: there is no file {authorities}")
        self.redis: Any = Redis(
            host=place.host,
            port=place.port,
            db=place.database,
            username=place.username,
            password=os.environ.get(PASSWORD_VARIABLE) or None,
            ssl=place.tls,
            ssl_ca_certs=authorities,
            ssl_check_hostname=True,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            retry=Retry(NoBackoff(), 0),  # a server that is not there is told at once
            protocol=2,
        )
        with self._asked():
            self.redis.ping()
            self.redis.set_retry(Retry(ConstantBackoff(PAUSE_S), int(PATIENCE_S / PAUSE_S)))
            if not read_only:
                self._check()

    def get(self, row: str) -> str | None:
        """See FolderStore; and so on below."""
        with self._asked():
            raw = self.redis.hget(*self._address(row))
        text, problem = _text(raw)
        if problem:
            raise corrupt(self.place, row, problem)
        return None if raw is None else text

    def put(self, rows: Mapping[str, str | None]) -> None:
        with self._asked(), self.redis.pipeline(transaction=True) as pipe:
            for row, text in rows.items():
                if text is None:
                    pipe.hdel(*self._address(row))
                else:
                    pipe.hset(*self._address(row), value=text)
            self._order(pipe, rows)
            pipe.execute()

    def add(self, rows: Mapping[str, str]) -> int:
        new = sorted(set(rows) - self.present(rows))
        with self._asked(), self.redis.pipeline(transaction=True) as pipe:
            for row in new:
                pipe.hsetnx(*self._address(row), value=rows[row])
            self._order(pipe, new)
            return sum(pipe.execute()[: len(new)])

    def present(self, rows: Collection[str]) -> set[str]:
        with self._asked(), self.redis.pipeline(transaction=False) as pipe:
            for row in rows:
                pipe.hexists(*self._address(row))
            return {row for row, there in zip(rows, pipe.execute(), strict=True) if there}

    def spent(self, after: int) -> list[tuple[int, str, str]]:
        with self._asked():
            names = self.redis.lrange(f"{self._space}:paid-order", after, -1)
        rows = [name.decode() for name in names]
        return [(after + n, row, self.get(row) or "") for n, row in enumerate(rows, start=1)]

    def scan(self, prefix: str) -> Iterator[ScannedRow]:
        for kind in ("batch", "call", "hold", "spent", "stage"):
            with self._asked():
                rows = self.redis.hscan_iter(f"{self._space}:{kind}", count=500)
                names = {f"{kind}/{name.decode()}": raw for name, raw in rows}
            for row in sorted(name for name in names if name.startswith(prefix)):
                yield ScannedRow(row, *_text(names[row]))

    def meet(self, owner: str, work: Callable[[list[str], float], str]) -> bool:
        """Tell ``work`` what other processes hold and the server's time, keep what it answers.

        False: another process was faster, try again. Who has lost the lock keeps nothing.
        """
        lock = self.redis.lock(f"{self._space}:lock", timeout=10, blocking=False)
        try:
            with self._asked(), lock, self.redis.pipeline() as pipe:
                pipe.watch(lock.name)
                if not lock.owned():
                    return False
                held = self.redis.hgetall(f"{self._space}:hold")
                others = [_text(raw)[0] for name, raw in held.items() if name.decode() != owner]
                mine = work(others, float(self.redis.time()[0]))
                pipe.multi()
                pipe.hset(f"{self._space}:hold", owner, mine)
                pipe.execute()
        except (wrong.LockError, wrong.WatchError):
            return False
        return True

    def close(self) -> None:
        self.redis.close()

    def _order(self, pipe: Any, rows: Collection[str]) -> None:
        paid = [row for row in rows if row.startswith(SPENT)]
        if paid:
            pipe.rpush(f"{self._space}:paid-order", *paid)

    def _address(self, row: str) -> tuple[str, str]:
        kind, _, name = row.partition("/")
        return f"{self._space}:{kind}", name

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """redis-py's failures in our words."""
        try:
            yield
        except (wrong.LockError, wrong.WatchError):
            raise
        except wrong.RedisError as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            if reason.startswith("WRONGTYPE"):
                reason = f"its keys '{self._space}:...' are not a call cache: name another database"
                raise CacheError(f"the Redis at {self.place}: {reason}") from None
            advice = "start it, or name another call cache in operations.cache"
            if isinstance(error, wrong.AuthenticationError | wrong.AuthorizationError):
                advice = f"set the environment variable {PASSWORD_VARIABLE} for this name"
            elif "CERTIFICATE_VERIFY_FAILED" in reason:
                advice = f"{CERTIFICATES_VARIABLE} names the file of its certificate's authority"
            elif isinstance(error, wrong.OutOfMemoryError):
                advice = "it is full: raise its maxmemory"
            raise EnvironmentFault(
                f"the Redis at {self.place} cannot be used: {reason}; {advice}"
            ) from None

    def _check(self) -> None:
        """Raise EnvironmentFault unless the server keeps every row that it acknowledges."""
        try:
            settings = self.redis.config_get("maxmemory*", "*append*")
        except wrong.ResponseError as error:
            settings, unsafe = {}, f"it does not tell its settings ({error})"
        for name, (value, why) in _PROMISES.items():
            if settings and settings.get(name) != value:
                unsafe = f"{name} is {settings.get(name)}, so {why}: set '{name} {value}'"
                break
        else:
            if settings:
                return
        raise EnvironmentFault(f"the Redis at {self.place} may lose what was paid for: {unsafe}")


def _text(raw: bytes | None) -> tuple[str, str | None]:
    """Read a row's text, or say what is wrong with it."""
    try:
        return (raw or b"").decode(), None
    except UnicodeDecodeError:
        return "", "it is not UTF-8 text"
