"""A connection to Redis, and what its server must promise before anything is kept there.

Nothing that was paid for may be dropped, so a server that may evict is refused. A row that was
acknowledged must outlive kill -9 of the server and a power cut, so the append-only file must be on
and flushed before each answer (``appendfsync always``): ``everysec`` may lose the last second of
acknowledged rows. Every connection asks before its first command: after a restart the server may
have other settings.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from simulrag.calls.places import CERTIFICATES_VARIABLE, PASSWORD_VARIABLE, RedisPlace
from simulrag.calls.rows import PATIENCE_S, BusyError
from simulrag.errors import CacheError, EnvironmentFault

try:
    from redis import Redis
    from redis import exceptions as wrong
    from redis.backoff import NoBackoff
    from redis.retry import Retry
    from redis.utils import str_if_bytes
except ImportError as error:
    raise EnvironmentFault(
        "a call cache in Redis needs the package redis: pip install 'simulrag[cluster]'"
    ) from error

log = logging.getLogger(__name__)

T = TypeVar("T")

ANSWER_S = 5.0
"""How long one command may take: the event loop stands still meanwhile."""

OLDEST_VERSION = 7
"""Earlier servers do not refuse a script as a whole when their memory is full."""

_PROMISES = (
    ("appendonly", "yes", "so rows are gone when it ends"),
    ("appendfsync", "always", "so acknowledged rows are gone when it is killed or loses power"),
    ("no-appendfsync-on-rewrite", "no", "so nothing is flushed while it rewrites its file"),
)
"""Settings of redis.conf, and what happens with other values."""

_REFUSED = "the Redis at {place} may lose what was paid for: {what}. {advice}, then run again"


class RedisServer:
    """One place's server. ``trusting``: its promises are not asked for, since nothing is kept."""

    def __init__(self, place: RedisPlace, *, trusting: bool = False) -> None:
        self.place = place
        self._away = False
        self._met = False
        introduce: Any = None if trusting else self._introduce  # redis types it without argument
        self.redis: Redis = Redis(
            host=place.host,
            port=place.port,
            db=place.database,
            username=place.username,
            password=os.environ.get(PASSWORD_VARIABLE) or None,
            ssl=place.tls,
            ssl_ca_certs=_authorities() if place.tls else None,
            ssl_check_hostname=True,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            # No waiting in here: whoever calls waits, and lets the event loop run.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            redis_connect_func=introduce,
        )

    def ask(self, command: Callable[[Redis], T]) -> T:
        """The answer to a command.

        Raises BusyError while the server is away, EnvironmentFault where it refuses, CacheError
        where it holds something else than rows.
        """
        try:
            answer = command(self.redis)
        except (wrong.AuthenticationError, wrong.AuthorizationError, wrong.NoPermissionError) as e:
            raise EnvironmentFault(
                f"the Redis at {self.place} lets nobody in with this name and password: {_said(e)}"
                f". Set the environment variable {PASSWORD_VARIABLE}"
            ) from None
        except (wrong.BusyLoadingError, wrong.TryAgainError, wrong.MasterDownError) as error:
            raise BusyError(_said(error)) from error
        except (wrong.ConnectionError, wrong.TimeoutError) as error:
            self._lost(_said(error))
            raise BusyError(_said(error)) from error
        except wrong.OutOfMemoryError as error:
            raise EnvironmentFault(
                f"the Redis at {self.place} is full: {_said(error)}. Raise its maxmemory"
            ) from error
        except wrong.ResponseError as error:
            raise self._refusal(error) from error
        if self._away:
            self._away = False
            log.warning("the Redis at %s answers again", self.place)
        return answer

    def lost_patience(self, error: BusyError) -> EnvironmentFault:
        """What to say when it stayed away, or others were faster for too long."""
        return EnvironmentFault(
            f"the Redis at {self.place} could not be used for {PATIENCE_S:g} s: {error}. See that "
            "it runs and can be reached, then run again: what was stored is kept"
        )

    def meet(self) -> None:
        """Ask for the first time. Raises EnvironmentFault at once where nobody is there.

        BusyError: it is there and still reads its file.
        """
        try:
            self.ask(lambda redis: redis.ping())
        except BusyError as error:
            if self._away:
                raise EnvironmentFault(
                    f"the Redis at {self.place} cannot be reached: {error}. {_advice(error)}"
                ) from error
            raise
        self._met = True

    def close(self) -> None:
        """Close the connections."""
        self.redis.close()

    def _lost(self, said: str) -> None:
        first, self._away = not self._away, True
        if first and self._met:
            log.warning(
                "the Redis at %s does not answer (%s): waiting up to %g s for it",
                self.place,
                said,
                PATIENCE_S,
            )

    def _refusal(self, error: wrong.ResponseError) -> Exception:
        said = _said(error)
        if said.startswith("WRONGTYPE"):
            return CacheError(
                f"the Redis at {self.place} holds keys '{self.place.space}:...' that are no call "
                "cache: name another database in operations.cache"
            )
        return EnvironmentFault(f"the Redis at {self.place} refused a command: {said}")

    def _introduce(self, connection: Any) -> None:
        """What a connection does first."""
        connection.on_connect()
        try:
            self._check(connection)
        except EnvironmentFault:
            connection.disconnect()
            raise

    def _check(self, connection: Any) -> None:
        """Raise EnvironmentFault unless the server keeps every row that it acknowledges."""
        found: dict[str, str] = {}
        try:
            connection.send_command("INFO", "server")
            version = re.search(r"redis_version:(\d+)", str_if_bytes(connection.read_response()))
            for names in ("maxmemory*", "append*", "no-appendfsync-on-rewrite"):
                connection.send_command("CONFIG", "GET", names)
                words = [str_if_bytes(word) for word in connection.read_response()]
                found.update(zip(words[::2], words[1::2], strict=True))
        except (wrong.AuthenticationError, wrong.AuthorizationError):
            raise
        except wrong.ResponseError as error:
            raise self._unsafe(
                f"it does not tell its settings ({_said(error)})",
                "Allow CONFIG GET to this user, or use a server of your own",
            ) from error
        if version is None or int(version[1]) < OLDEST_VERSION:
            raise EnvironmentFault(
                f"the Redis at {self.place} is too old: version {OLDEST_VERSION} or later is needed"
            )
        if found.get("maxmemory") != "0" and found.get("maxmemory-policy") != "noeviction":
            raise self._unsafe(
                f"maxmemory is set and maxmemory-policy is {found.get('maxmemory-policy')}, so it "
                "drops rows when memory is full",
                "Set 'maxmemory-policy noeviction'",
            )
        for name, value, why in _PROMISES:
            if found.get(name) != value:
                raise self._unsafe(f"{name} is {found.get(name)}, {why}", f"Set '{name} {value}'")

    def _unsafe(self, what: str, advice: str) -> EnvironmentFault:
        return EnvironmentFault(_REFUSED.format(place=self.place, what=what, advice=advice))


def _authorities() -> str | None:
    """The file of certificates that the user trusts, None for the system's own."""
    named = os.environ.get(CERTIFICATES_VARIABLE)
    if not named:
        return None
    if not Path(named).is_file():
        raise EnvironmentFault(f"the environment variable {CERTIFICATES_VARIABLE}: no file {named}")
    return named


def _advice(error: BusyError) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return (
            "Nobody vouches for its certificate: set the environment variable "
            f"{CERTIFICATES_VARIABLE} to the file of the authority that made it, and use the name "
            "that it was made for"
        )
    return "Start it, or name another call cache in operations.cache"


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
