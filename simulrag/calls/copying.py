"""From one place to another: a cache folder into Redis and back, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import groupby

from simulrag.calls.exchange import ROWS_PER_TRANSACTION, add_missing
from simulrag.calls.inspection import read_row
from simulrag.calls.opening import holds_rows, open_rows, scan_rows
from simulrag.calls.places import CachePlace
from simulrag.calls.stored import CALL_PREFIX, SPENT_PREFIX, STAGE_PREFIX
from simulrag.errors import InputError
from simulrag.records import Record

# What refresh overwrote before what it wrote, as it was committed: a budget that counts in the
# target meanwhile would else take the older usage for one that it has seen.
_ORDER = (SPENT_PREFIX, CALL_PREFIX, STAGE_PREFIX)


class CopyReport(Record):
    """Rows copied, rows that were there already, and "name: why" of those refused."""

    copied: int = 0
    present: int = 0
    refused: tuple[str, ...] = ()


def copy_cache(source: CachePlace, target: CachePlace) -> CopyReport:
    """Copy calls with all they say, usage without a call, and stages' counts.

    No row is overwritten, so it may be repeated, also after an interruption. Leases and what is
    held under way stay behind. A row that cannot be trusted (its key is not its request's) is
    refused. Raises InputError without a cache at ``source``, EnvironmentFault where one of the two
    cannot be used, CacheError for a damaged database.
    """
    if not holds_rows(source):
        raise InputError(f"there is no call cache at {source}")
    refused: list[str] = []
    copied = present = 0
    with closing(open_rows(target)) as rows:
        trusted = enumerate(_trusted(source, refused))
        for _, group in groupby(trusted, key=lambda item: item[0] // ROWS_PER_TRANSACTION):
            some = [row for _, row in group]
            added = add_missing(rows, some)
            copied, present = copied + added, present + len(some) - added
    return CopyReport(copied=copied, present=present, refused=tuple(refused))


def _trusted(source: CachePlace, refused: list[str]) -> Iterator[tuple[str, str]]:
    for prefix in _ORDER:
        for row in scan_rows(source, prefix):
            try:
                read_row(row)
            except ValueError as error:
                refused.append(f"{row.row}: {error}")
            else:
                yield row.row, row.text
