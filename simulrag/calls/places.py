"""Where a call cache lies: a folder (diskcache) or a database of a Redis server."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from simulrag.errors import InputError

PASSWORD_VARIABLE = "REDIS_PASSWORD"  # noqa: S105 - the name of the variable, not what is in it
CERTIFICATES_VARIABLE = "REDIS_CA"
_FORMS = "a folder, 'diskcache:DIR' or 'redis://HOST:PORT/DB' (rediss:// with TLS)"


@dataclass(frozen=True)
class RedisPlace:
    """One database of a Redis server. Its password is in no place: REDIS_PASSWORD holds it.

    ``space``: what the names of its keys begin with. ``tls``: the connection is encrypted, and the
    server's certificate is checked against its name, by the system's authorities or those in the
    file that REDIS_CA names.
    """

    host: str
    port: int = 6379
    database: int = 0
    username: str | None = None
    space: str = "simulrag"
    tls: bool = False

    def __str__(self) -> str:
        user = "" if self.username is None else f"{self.username}@"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis{'s' * self.tls}://{user}{host}:{self.port}/{self.database}"


CachePlace = Path | RedisPlace


def parse_place(text: str, root: Path = Path()) -> CachePlace:
    """The place that a setting names: ``DIR``, ``diskcache:DIR`` or ``redis[s]://HOST:PORT/DB``.

    Relative folders are below ``root``. Raises InputError for anything else; its text repeats no
    part of an address that may be a password.
    """
    folder = text.removeprefix("diskcache:")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", text) if folder == text else None
    if folder and scheme is None:
        return root / folder
    if scheme is None or scheme[1] not in ("redis", "rediss"):
        what = "has no folder" if scheme is None else f"cannot lie at '{scheme[0]}'"
        raise InputError(f"the call cache {what}: name {_FORMS}")
    unreadable = f"the address of the call cache cannot be read: name {_FORMS}"
    try:
        parts = urlsplit(text)
        port = parts.port or RedisPlace.port
    except ValueError:
        raise InputError(unreadable) from None
    if parts.password is not None:
        raise InputError(
            "the address of the call cache holds a password: take it out of there and put it into "
            f"the environment variable {PASSWORD_VARIABLE}"
        )
    database = parts.path.removeprefix("/") or "0"
    odd = not parts.hostname or parts.query or parts.fragment
    if odd or not re.fullmatch("[0-9]+", database):
        raise InputError(unreadable)
    user = unquote(parts.username) if parts.username else None
    tls = scheme[1] == "rediss"
    return RedisPlace(parts.hostname or "", port, int(database), user, tls=tls)


def pending_place(cache: CachePlace) -> CachePlace:
    """Where the calls wait that belong to a call cache: rows of their own, beside its rows."""
    if isinstance(cache, RedisPlace):
        return replace(cache, space=f"{cache.space}-pending")
    return cache / "pending"
