"""What keeps the rows of a cache: text under text names, nothing ever dropped.

A folder keeps them for the processes of one machine; Redis (``redis_store``) for those of many.

diskcache unpickles what a row says is a pickle, so whoever can write the file could run code in
the reader (CVE-2025-69872), and it deletes whatever file a row names. ``TextDisk`` takes both away.
SQLite runs in WAL mode with ``synchronous=FULL``: a row is acknowledged after its commit reached
the disk, so it outlives kill -9 and, on disks that honour a flush, a power cut.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from diskcache import Cache, Disk, Timeout

from simulrag.calls.rows import corrupt
from simulrag.errors import CacheError, EnvironmentFault, InputError

if TYPE_CHECKING:
    from simulrag.calls.redis_store import RedisStore

    Store: TypeAlias = "FolderStore" | RedisStore

PASSWORD_VARIABLE = "REDIS_PASSWORD"  # noqa: S105 - the name of the variable, not what is in it
CERTIFICATES_VARIABLE = "REDIS_CA"
_FORMS = "a folder, 'diskcache:DIR' or 'redis://HOST:PORT/DB' (rediss:// with TLS)"

PATIENCE_S = 60.0
"""How long another process's lock, or a Redis that restarts, is waited for."""
MAKING_S = 2.0
"""How long another process may take to make a new database."""
DATABASE = "cache.db"
_RAW = 1
_SETTINGS = {
    "eviction_policy": "none",
    "size_limit": 2**62,
    "cull_limit": 0,
    "statistics": 0,
    "disk_min_file_size": 2**30,
    "sqlite_journal_mode": "wal",
    "sqlite_synchronous": 2,  # FULL
    "sqlite_cache_size": 512,  # pages of 4 KiB, held by every process
    "sqlite_auto_vacuum": 0,
    "sqlite_mmap_size": 0,  # a mapped file that another program cuts short kills the reader
}


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
    """Read the place that a setting names: ``DIR``, ``diskcache:DIR``, ``redis[s]://HOST:PORT/DB``.

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
    """Name where the calls wait that belong to a call cache: rows of their own, beside its rows."""
    if isinstance(cache, RedisPlace):
        return replace(cache, space=f"{cache.space}-pending")
    return cache / "pending"


class ScannedRow(NamedTuple):
    """A row as it lies there; ``problem``: why its text cannot be trusted."""

    row: str
    text: str
    problem: str | None = None


def open_store(place: CachePlace) -> Store:
    """Open the rows of a place, made where there are none yet.

    Raises EnvironmentFault for a place that cannot be used, CacheError for a damaged database.
    """
    if not isinstance(place, RedisPlace):
        return FolderStore(place)
    from simulrag.calls.redis_store import RedisStore

    return RedisStore(place)


def scan_store(place: CachePlace, prefix: str = "") -> Iterator[ScannedRow]:
    """Read rows of a place by name, without trusting them; nothing is written or made there."""
    if isinstance(place, RedisPlace):
        from simulrag.calls.redis_store import RedisStore

        with closing(RedisStore(place, read_only=True)) as store:
            yield from store.scan(prefix)
        return
    order = "SELECT key, raw, expire_time, mode, filename, value FROM Cache ORDER BY key, raw"
    for key, raw, expire_time, mode, filename, value in read_folder(place, order):
        name, text, problem = str(key), "", None
        if not isinstance(key, str) or raw != 1:
            problem = "its key is not text: it would never be found"
        elif expire_time is not None:
            problem = "it has an expiry time: it would be lost"
        elif mode != _RAW or filename is not None or not isinstance(value, str):
            problem = f"it is not inline text (mode {mode})"
        else:
            text = value
        if name.startswith(prefix):
            yield ScannedRow(name, text, problem)


def holds_rows(place: CachePlace) -> bool:
    """Tell whether anything was ever kept there; nothing is written or made."""
    return next(scan_store(place), None) is not None


class TextDisk(Disk):  # type: ignore[misc]
    """Stores text inline and refuses everything else: TypeError on the way in, CacheError out."""

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            raise TypeError(f"cache keys are text, not {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if raw != 1 or type(key) is not str:
            raise CacheError("its key is not text")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, str]:
        if read or type(value) is not str:
            raise TypeError(f"the cache row {key} must be text, not {type(value).__name__}")
        return 0, _RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> str:
        if read or mode != _RAW or filename is not None or type(value) is not str:
            raise CacheError(f"it is not inline text (mode {mode})")
        return value

    def remove(self, file_path: object) -> None:
        """Do nothing: rows own no files here, so one that names a file is not obeyed."""


class FolderStore:
    """The rows of one cache folder, never on a network file system: SQLite's locks fail there.

    Every operation may raise EnvironmentFault (it cannot be used) and CacheError (it is damaged).
    What was acknowledged outlives kill -9.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.place = str(self.folder)
        if os.path.expandvars(self.place) != self.place:
            raise EnvironmentFault(
                f"the cache folder {self.place} holds a $NAME that diskcache would replace; "
                "choose a folder without one"
            )
        with self._translated():
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._refuse_emptied()
                self._cache = Cache(self.place, timeout=PATIENCE_S, disk=TextDisk, **_SETTINGS)
            except OSError as error:
                raise _unusable(self.folder, error) from error
            except TypeError as error:  # a setting that diskcache does not know, handed to the disk
                raise corrupt(self.place, "of the settings", str(error)) from error

    def _refuse_emptied(self) -> None:
        """Refuse a database without its table, as it lost what was paid for.

        diskcache would begin anew.
        """
        file = self.folder / DATABASE
        if file.is_symlink() and not file.exists():
            raise CacheError(f"{file} links to a file that is not there; put it back or delete it")
        patience = time.monotonic() + MAKING_S
        while file.is_file():
            with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as database:
                if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'Cache'").fetchone():
                    return
            if time.monotonic() > patience:
                raise CacheError(
                    f"{file} was emptied: the replies that lay in it are gone, and the ledger of "
                    "what was spent with them. Put a copy back, or delete the file: then every "
                    "call that no export holds is paid again, and a budget counts from nothing"
                )
            time.sleep(0.05)  # another process may be making it at this moment

    def get(self, row: str) -> str | None:
        """Read the text of a row; None: there is none. Raises CacheError for a tampered row."""
        try:
            with self._translated():
                text: str | None = self._cache.get(row)
                odd = "SELECT 1 FROM Cache WHERE key = ? AND (raw != 1 OR expire_time IS NOT NULL)"
                if text is None and any(read_folder(self.folder, odd, row)):
                    raise CacheError("it has an expiry time, or a name that is not read as text")
                return text
        except CacheError as error:
            if self.place in str(error):
                raise  # the database as a whole
            raise corrupt(self.place, row, str(error)) from error

    def put(self, rows: Mapping[str, str | None]) -> None:
        """Write rows in one transaction, committed on return; None removes a row."""
        with self._translated(), self._cache.transact():
            for row, text in rows.items():
                if text is None:
                    self._cache.delete(row)
                else:
                    self._cache.set(row, text)

    def add(self, rows: Mapping[str, str]) -> int:
        """Write the rows that are not there yet, in one transaction; their number."""
        with self._translated(), self._cache.transact():
            return sum(bool(self._cache.add(row, text)) for row, text in rows.items())

    def present(self, rows: Collection[str]) -> set[str]:
        """Tell which of these rows are there."""
        marks = ",".join("?" * len(rows))
        there = read_folder(self.folder, f"SELECT key FROM Cache WHERE key IN ({marks})", *rows)  # noqa: S608
        return {row for (row,) in there}

    def spent(self, after: int) -> list[tuple[int, str, str]]:
        """Read position, name and text of the rows ``spent/`` above a position."""
        query = "SELECT rowid, key, value FROM Cache WHERE rowid > ? AND key GLOB 'spent/*'"
        return list(read_folder(self.folder, f"{query} ORDER BY rowid", after))

    def meet(self, owner: str, work: Callable[[list[str], float], str]) -> bool:  # noqa: ARG002
        """Folders coordinate no reservations: a budget keeps its promise within one process."""
        work([], 0.0)
        return True

    def close(self) -> None:
        """Close the connections."""
        self._cache.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's failures in our words."""
        try:
            yield
        except (Timeout, sqlite3.DatabaseError) as error:
            if hasattr(self, "_cache"):
                self._cache.close()  # a commit that failed may have left its transaction open
            raise _meaning(self.folder, error) from error


def read_folder(folder: Path, query: str, *values: object) -> Iterator[Any]:
    """Query a folder's last commit; nothing comes without a cache. Raises as FolderStore."""
    path = folder.absolute() / DATABASE
    if not path.exists():
        return
    try:
        where = f"file:{quote(str(path))}?mode=ro"
        with closing(sqlite3.connect(where, uri=True, timeout=PATIENCE_S)) as database:
            # Bytes that are no UTF-8 must reach the check of a row, not end the reading.
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            yield from database.execute(query, values)
    except sqlite3.DatabaseError as error:
        raise _meaning(folder, error) from error


def renamed_calls(place: CachePlace) -> dict[str, str]:
    """Name, by the key in their text, a folder's rows of another name: those are never found."""
    if isinstance(place, RedisPlace):
        return {}  # all rows are read for this, and there they come over the network
    named = """substr(value, instr(value, '"key":"') + 7, 64)"""
    query = f"""SELECT {named}, CAST(key AS TEXT) FROM Cache WHERE instr(value, '"key":"')
                AND (raw != {_RAW} OR key IS NOT 'call/' || {named})"""  # noqa: S608
    return dict(read_folder(place, query))


def _meaning(folder: Path, error: BaseException) -> CacheError | EnvironmentFault:
    # diskcache calls every failure to begin a transaction a time-out, and its own ROLLBACK
    # fails after a full disk: the first of SQLite's errors is the one that says why.
    first, at = error, error.__context__
    while at is not None:
        first, at = (at if isinstance(at, sqlite3.DatabaseError) else first), at.__context__
    code = getattr(first, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if isinstance(first, Timeout) or code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return EnvironmentFault(
            f"another process has held the lock of {folder / DATABASE} for more than "
            f"{PATIENCE_S:g} s. End it and run again"
        )
    if str(first).startswith("Could not decode"):  # Python's own: no UTF-8
        return CacheError(str(first))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return CacheError(
            f"{folder / DATABASE} is damaged or not a call cache: {first}. Move the folder away "
            "(exports are imported again) or restore it from a backup"
        )
    return _unusable(folder, first)


def _unusable(folder: Path, error: BaseException) -> EnvironmentFault:
    return EnvironmentFault(
        f"the cache folder {folder} cannot be used: {error}. Make it writable, free space on its "
        "disk, or name another folder"
    )
