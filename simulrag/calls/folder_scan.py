"""A cache folder read without trusting it: nothing is unpickled, nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from simulrag.calls.rows import PATIENCE_S, ScannedRow
from simulrag.errors import CacheError

DATABASE = "cache.db"
MODE_RAW = 1

_SELECT = "SELECT key, raw, expire_time, mode, filename, value FROM Cache ORDER BY key, raw"
_Row = tuple[object, object, object, object, object, object]


def scan_folder(directory: Path, prefix: str = "") -> Iterator[ScannedRow]:
    """The rows that begin with ``prefix``, by name; none where there is no cache.

    Raises CacheError.
    """
    with _opened(directory) as database:
        if database is not None:
            rows = map(_scanned, database.execute(_SELECT))
            yield from (row for row in rows if row.row.startswith(prefix))


def check_folder(directory: Path) -> list[str]:
    """What SQLite's own check finds wrong with the database. Raises CacheError."""
    with _opened(directory) as database:
        if database is None:
            return []
        found = (str(finding) for (finding,) in database.execute("PRAGMA quick_check"))
        return [finding for finding in found if finding != "ok"]


def folder_size_bytes(directory: Path) -> int:
    """The database with SQLite's log beside it."""
    return sum(path.stat().st_size for path in directory.glob(f"{DATABASE}*"))


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that can write nothing."""
    where = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(where, uri=True, timeout=PATIENCE_S)


@contextmanager
def _opened(directory: Path) -> Iterator[sqlite3.Connection | None]:
    """The database; None where there is none. Raises CacheError."""
    path = (directory / DATABASE).absolute()
    if not path.exists():
        yield None
        return
    try:
        with closing(read_only(path)) as database:
            # Bytes that are no UTF-8 must reach the check of a row, not end the reading.
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            yield database
    except sqlite3.DatabaseError as error:
        raise CacheError(
            f"{path} cannot be read as a call cache: {error}. Move the folder away or restore it"
        ) from error


def _scanned(row: _Row) -> ScannedRow:
    key, raw, expire_time, mode, filename, value = row
    if not isinstance(key, str) or raw != 1:
        name = key if isinstance(key, str) else repr(key)
        return ScannedRow(name, "", "its key is no text: it would never be found")
    if expire_time is not None:
        return ScannedRow(key, "", "it has an expiry time: it would be lost")
    if mode != MODE_RAW or filename is not None or not isinstance(value, str):
        return ScannedRow(key, "", f"it is no inline text (mode {mode})")
    return ScannedRow(key, value)
