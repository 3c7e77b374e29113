"""The rows in a folder: text under text keys, nothing else, and nothing ever dropped.

diskcache unpickles what a row says is a pickle, so whoever can write the file could run code in
the reader (CVE-2025-69872), and it deletes whatever file a row names. ``TextDisk`` takes both away.

SQLite runs in WAL mode with ``synchronous=FULL``: a row is acknowledged after its commit reached
the disk, so it outlives kill -9 and, on disks that honour a flush, a power cut. That costs a flush
a write (0.4 ms on an SSD against 0.1 ms for NORMAL), which is small beside any call worth caching.

Reads take about 50 us and are made in the event loop. SQLite itself may sleep at most
``BUSY_TIMEOUT_S`` for another process's lock; longer waits are ours and let the loop run.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from diskcache import Cache, Disk, Timeout

from simulrag.calls.folder_scan import DATABASE, MODE_RAW, read_only, scan_folder
from simulrag.calls.rows import PATIENCE_S, BusyError, PaidRow, Rows, ScannedRow
from simulrag.calls.stored import corrupt
from simulrag.errors import CacheError, EnvironmentFault, SimulRAGError

T = TypeVar("T")

BUSY_TIMEOUT_S = 0.05
SYNCHRONOUS_NORMAL = 1
SYNCHRONOUS_FULL = 2
NO_LIMIT_BYTES = 2**62
CACHE_PAGES = 512

_SETTINGS = {
    "eviction_policy": "none",
    "size_limit": NO_LIMIT_BYTES,
    "cull_limit": 0,
    "statistics": 0,
    "disk_min_file_size": 2**30,
    "sqlite_journal_mode": "wal",
    "sqlite_synchronous": SYNCHRONOUS_FULL,
    # Pages of 4 KiB. More of them are faster by nothing that shows beside the system's own cache,
    # and are held by every process.
    "sqlite_cache_size": CACHE_PAGES,
    # Leases come and go: freed pages are used again, moving them at each commit gains nothing.
    "sqlite_auto_vacuum": 0,
    # A mapped file that another program cuts short kills the reader instead of raising.
    "sqlite_mmap_size": 0,
}

# A new row's rowid is above all others: a call is deleted only to be written anew, after a row of
# its usage.
_PAID = """
SELECT rowid, key, json_extract(value, '$.request.provider'),
       json_extract(value, '$.request.endpoint'), json_extract(value, '$.request.model'),
       json_extract(value, '$.usage'), json_extract(value, '$.time'),
       json_extract(value, '$.service'), json_extract(value, '$.replaces')
FROM Cache
WHERE rowid > ? AND (key GLOB 'spent/*'
                     OR (key GLOB 'call/*' AND json_extract(value, '$.paid')))
ORDER BY rowid
"""
_ITEMS = "SELECT key, value FROM Cache WHERE key >= ? AND key < ?"


class TextDisk(Disk):  # type: ignore[misc]
    """Stores text inline and refuses everything else, in both directions."""

    def put(self, key: object) -> tuple[str, bool]:
        """A key for the table. Raises TypeError for anything but text."""
        if type(key) is not str:
            raise TypeError(f"cache keys are text, not {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> str:
        """A key from the table. Raises CacheError for anything but raw text."""
        if raw != 1 or type(key) is not str:
            raise CacheError("its key is no text")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, str]:
        """A value for the table. Raises TypeError for anything but text."""
        if read or type(value) is not str:
            raise TypeError(f"the cache row {key} must be text, not {type(value).__name__}")
        return 0, MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> str:
        """A value from the table. Raises CacheError for anything but inline text."""
        if read or mode != MODE_RAW or filename is not None or type(value) is not str:
            raise CacheError(f"it is no inline text (mode {mode})")
        return value

    def remove(self, file_path: object) -> None:
        """Nothing: no row of ours owns a file, so a row that names one is not obeyed."""


class FolderRows(Rows):
    """The text rows of one cache folder, shared by the processes of a machine."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.place = text = str(self.directory)
        self._reader: sqlite3.Connection | None = None
        if os.path.expandvars(text) != text:
            raise EnvironmentFault(
                f"the cache folder {text} holds a $NAME that diskcache would replace; "
                "choose a folder without one"
            )
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._cache = Cache(text, timeout=BUSY_TIMEOUT_S, disk=TextDisk, **_SETTINGS)
        except OSError as error:
            raise self._unusable(error) from error
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error
        except TypeError as error:  # a setting that is none of diskcache's, handed to the disk
            raise corrupt(self.place, "of the settings", str(error)) from error

    def get(self, row: str) -> str | None:
        def work() -> str | None:
            try:
                text: str | None = self._cache.get(row)
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", None) is None:  # Python's own: no UTF-8
                    raise CacheError(str(error)) from None
                raise
            return text

        try:
            return self._attempt(work)
        except CacheError as error:
            if error.__cause__ is None:  # from TextDisk, which does not know the row's name
                raise corrupt(self.place, row, str(error)) from error
            raise

    def names(self, prefix: str) -> list[str]:
        return self._attempt(
            lambda: sorted(row for row in self._cache.iterkeys() if row.startswith(prefix))
        )

    def set(self, row: str, text: str) -> None:
        self._attempt(lambda: self._cache.set(row, text))

    def delete(self, row: str) -> None:
        self._attempt(lambda: self._cache.delete(row))

    def transact(self, work: Callable[[], T], *, durable: bool = True) -> T:
        """Run ``work`` in one transaction that excludes other writers.

        Not ``durable``: no flush is waited for.
        """

        def inside() -> T:
            with self._cache.transact():
                return work()

        def undurable() -> T:
            self._cache.reset("sqlite_synchronous", SYNCHRONOUS_NORMAL, update=False)
            try:
                return inside()
            finally:
                self._cache.reset("sqlite_synchronous", SYNCHRONOUS_FULL, update=False)

        try:
            return self._attempt(inside if durable else undurable)
        except EnvironmentFault:
            # A commit that failed may have left its transaction open: begin on a new connection.
            self._cache.close()
            raise

    def items(self, prefix: str) -> dict[str, str]:
        return dict(self._select(_ITEMS, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)))

    def paid(self, after: int) -> list[PaidRow]:
        return [PaidRow(*row) for row in self._select(_PAID, after)]

    def scan(self, prefix: str = "") -> Iterator[ScannedRow]:
        return scan_folder(self.directory, prefix)

    def now_s(self) -> float:
        """The monotonic clock, which all processes of a machine share."""
        return time.monotonic()

    def close(self) -> None:
        """Close this thread's connections."""
        self._cache.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _select(self, query: str, *values: int | str) -> list[Any]:
        """Rows of the last commit, without waiting for writers. Raises ValueError: no JSON."""
        try:
            if self._reader is None:
                self._reader = read_only(self.directory / DATABASE)
            return self._reader.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise ValueError(str(error)) from error

    def _attempt(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (Timeout, sqlite3.DatabaseError) as error:
            raise self._meaning(error) from error

    def _meaning(self, error: Exception) -> Exception:
        first = _first_sqlite_error(error)
        code = getattr(first, "sqlite_errorcode", None)
        if code is None:
            return BusyError(str(error)) if isinstance(error, Timeout) else self._damaged(error)
        primary = code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return BusyError(str(first))
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return self._damaged(first)
        return self._unusable(first)

    def _damaged(self, error: BaseException | None) -> SimulRAGError:
        return CacheError(
            f"{self.directory / DATABASE} is damaged or no call cache: {error}. Move the folder "
            "away (exports under data/calls are imported again) or restore it from a backup"
        )

    def _unusable(self, error: BaseException | None) -> SimulRAGError:
        return EnvironmentFault(
            f"the cache folder {self.directory} cannot be used: {error}. Make it writable, free "
            "space on its disk, or name another folder"
        )

    def _lost_patience(self, error: BusyError) -> EnvironmentFault:
        return EnvironmentFault(
            f"another process has held the lock of {self.directory / DATABASE} for more than "
            f"{PATIENCE_S:g} s ({error}). End it and run again"
        )


def _first_sqlite_error(error: BaseException) -> BaseException | None:
    """The failure that began it all.

    diskcache calls every failure to begin a transaction a time-out, and its own ROLLBACK fails
    after a full disk; the reason is then only in the context. A full disk is no lock to wait for.
    """
    first: BaseException | None = None
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, sqlite3.DatabaseError):
            first = at
        at = at.__context__
    return first
