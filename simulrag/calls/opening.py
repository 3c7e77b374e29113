"""From a place to the rows in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from simulrag.calls.folder_rows import FolderRows
from simulrag.calls.folder_scan import DATABASE, scan_folder
from simulrag.calls.places import CachePlace, RedisPlace
from simulrag.calls.rows import Rows, ScannedRow


def open_rows(place: CachePlace, *, read_only: bool = False) -> Rows:
    """The rows of a place, made where there are none yet.

    ``read_only``: nothing will be kept there, so that a Redis need not promise to keep it.

    Raises EnvironmentFault for a folder that cannot be used and for a Redis that is out of reach
    or may lose rows, CacheError for a damaged database.
    """
    if isinstance(place, RedisPlace):
        from simulrag.calls.redis_rows import RedisRows

        return RedisRows(place, read_only=read_only)
    return FolderRows(place)


def scan_rows(place: CachePlace, prefix: str = "") -> Iterator[ScannedRow]:
    """Rows of a place, sorted by name, without trusting them; nothing is written or made.

    Raises CacheError where the place as a whole cannot be read, EnvironmentFault for a Redis that
    is out of reach.
    """
    if not isinstance(place, RedisPlace):
        yield from scan_folder(place, prefix)
        return
    from simulrag.calls.redis_rows import RedisRows

    with closing(RedisRows(place, read_only=True)) as rows:
        yield from rows.scan(prefix)


def holds_rows(place: CachePlace) -> bool:
    """Whether anything was ever kept there; nothing is written or made."""
    if not isinstance(place, RedisPlace):
        return (place / DATABASE).is_file()
    from simulrag.calls.redis_rows import RedisRows

    with closing(RedisRows(place, read_only=True)) as rows:
        return rows.exist()
