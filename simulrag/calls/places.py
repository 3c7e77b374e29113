"""Where a call cache lies: a folder (diskcache) or a database of a Redis server."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from simulrag.errors import InputError

DISKCACHE = "diskcache:"
REDIS = "redis:"
REDIS_TLS = "rediss:"
REDIS_PORT = 6379
PASSWORD_VARIABLE = "REDIS_PASSWORD"  # noqa: S105 - the name of the variable, not what is in it
CERTIFICATES_VARIABLE = "REDIS_CA"

_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PENDING = "pending"


@dataclass(frozen=True)
class RedisPlace:
    """One database of a Redis server. Its password is in no place: REDIS_PASSWORD holds it.

    ``space``: what the names of its keys begin with. ``tls``: the connection is encrypted, and the
    server's certificate is checked against its name, by the system's authorities or those in the
    file that REDIS_CA names.
    """

    host: str
    port: int = REDIS_PORT
    database: int = 0
    username: str | None = None
    space: str = "simulrag"
    tls: bool = False

    def __str__(self) -> str:
        user = "" if self.username is None else f"{self.username}@"
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = REDIS_TLS if self.tls else REDIS
        return f"{scheme}//{user}{host}:{self.port}/{self.database}"


CachePlace = Path | RedisPlace
"""A folder, or a Redis database."""


def parse_place(text: str, root: Path = Path()) -> CachePlace:
    """The place that a setting names: ``DIR``, ``diskcache:DIR`` or ``redis[s]://HOST:PORT/DB``.

    Relative folders are below ``root``. Raises InputError for anything else; its text repeats no
    part of an address that may be a password.
    """
    if text.startswith((REDIS, REDIS_TLS)):
        return _redis(text)
    folder = text.removeprefix(DISKCACHE)
    if folder == text and _OTHER_SCHEME.match(text):
        scheme = text.partition(":")[0]
        raise InputError(f"the call cache cannot lie at '{scheme}:': name {_FORMS}")
    if not folder:
        raise InputError(f"the call cache has no folder: name {_FORMS}")
    return root / folder


def pending_place(cache: CachePlace) -> CachePlace:
    """Where the calls wait that belong to a call cache: rows of their own, beside its rows."""
    if isinstance(cache, RedisPlace):
        return replace(cache, space=f"{cache.space}-{_PENDING}")
    return cache / _PENDING


_FORMS = "a folder, 'diskcache:DIR' or 'redis://HOST:PORT/DB' (rediss:// with TLS)"


def _redis(text: str) -> RedisPlace:
    try:
        parts = urlsplit(text)
        port = parts.port or REDIS_PORT
    except ValueError:
        raise _unreadable() from None
    if parts.password is not None:
        raise InputError(
            "the address of the call cache holds a password: take it out of there and put it into "
            f"the environment variable {PASSWORD_VARIABLE}"
        )
    database = parts.path.removeprefix("/") or "0"
    if not _is_address(parts) or not (database.isascii() and database.isdigit()):
        raise _unreadable()
    username = unquote(parts.username) if parts.username else None
    tls = text.startswith(REDIS_TLS)
    return RedisPlace(parts.hostname or "", port, int(database), username, tls=tls)


def _is_address(parts: SplitResult) -> bool:
    return bool(parts.netloc and parts.hostname) and not (parts.query or parts.fragment)


def _unreadable() -> InputError:
    return InputError(
        "the address of the call cache cannot be read: write redis://HOST:PORT/DB, for example "
        "redis://127.0.0.1:6379/0"
    )
