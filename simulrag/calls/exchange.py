"""Exports: the calls of a stage as a Parquet file that another clone can start from.

A file holds one call a row, sorted by key, in the columns key, kind, request, response, usage and
model_version; request, response and usage are canonical JSON text. Times, latencies and prices are
left out, so that the same calls give the same bytes on every machine. Both directions go part by
part: what is held at a time does not grow with the file.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from simulrag.calls.inspection import read_calls
from simulrag.calls.keys import canonical_json, plain_request
from simulrag.calls.opening import open_rows
from simulrag.calls.places import CachePlace
from simulrag.calls.rows import Rows
from simulrag.calls.stored import CALL_PREFIX, StoredCall, corrupt, from_text, parse_json, to_text
from simulrag.errors import CacheError, EnvironmentFault, InputError
from simulrag.records import Record

COLUMNS = ("key", "kind", "request", "response", "usage", "model_version")
ROWS_PER_TRANSACTION = 500
ROWS_PER_GROUP = 1024
"""Of a file's row groups, of which a few are in memory at a time: 3 to 10 MB of text each."""


class ImportReport(Record):
    """What an import did: rows taken over, rows there already, and "key: why" of those refused."""

    imported: int = 0
    present: int = 0
    refused: tuple[str, ...] = ()


def export_cache(place: CachePlace, path: Path) -> int:
    """Write every call of a cache to a Parquet file; their number.

    Raises CacheError for a row that cannot be trusted, EnvironmentFault for an unwritable path.
    """
    return _write(read_calls(place), path)


def import_cache(place: CachePlace, path: Path) -> ImportReport:
    """Take over the calls of an export that a cache does not hold yet.

    Raises InputError for a file that is no export, EnvironmentFault for an unwritable cache.
    """
    with closing(open_rows(place)) as rows:
        return import_calls(rows, path)


def export_calls(rows: Rows, keys: Collection[str], path: Path) -> int:
    """Write the calls with these keys to a Parquet file; their number.

    Raises CacheError for a row that is gone or corrupt, EnvironmentFault for an unwritable path.
    """
    return _write((_stored(rows, key) for key in sorted(keys)), path)


def import_calls(rows: Rows, path: Path) -> ImportReport:
    """Take over the calls of an export that are not there yet; no row is ever overwritten.

    A row whose key does not belong to its request is refused. Whether its response is what the
    model said cannot be checked: import from those you trust. Raises InputError for a file that is
    no export.
    """
    refused: list[str] = []
    imported = present = 0
    for lines in _read(path):
        calls: list[tuple[str, str]] = []
        for line in lines:
            try:
                call = _checked(line)
                calls.append((CALL_PREFIX + call.key, to_text(call)))
            except ValueError as error:
                refused.append(f"{line['key']}: {error}")
        added = add_missing(rows, calls)
        imported, present = imported + added, present + len(calls) - added
    return ImportReport(imported=imported, present=present, refused=tuple(refused))


def _stored(rows: Rows, key: str) -> StoredCall:
    row = CALL_PREFIX + key
    text = rows.patiently_now(lambda: rows.get(row))
    if text is None:
        raise CacheError(
            f"the cache row {row} in {rows.place} was used by this run and is gone: another "
            "program removed it. Run the stage again"
        )
    try:
        return from_text(text)
    except ValueError as error:
        raise corrupt(rows.place, row, str(error)) from error


def add_missing(rows: Rows, texts: Collection[tuple[str, str]]) -> int:
    """Write the rows (name, text) that are not there yet, in one transaction; their number."""

    def work() -> int:
        added = 0
        for row, text in texts:
            if rows.get(row) is None:
                rows.set(row, text)
                added += 1
        return added

    return rows.patiently_now(lambda: rows.transact(work))


def _write(calls: Iterable[StoredCall], path: Path) -> int:
    """Write calls, sorted by key, so that readers see the old file or the whole new one.

    Polars writes a file in one go: each part is a compressed file of its own before.
    """
    import polars

    schema = dict.fromkeys(COLUMNS, polars.String)
    whole = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    lines = map(_line, calls)
    parts: list[Path] = []
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="simulrag-") as folder:
            while (some := list(islice(lines, ROWS_PER_TRANSACTION))) or not parts:
                count += len(some)
                parts.append(Path(folder) / f"{len(parts)}.parquet")
                frame = polars.DataFrame(some, schema=schema, orient="row")
                frame.write_parquet(parts[-1], compression="zstd")
            try:
                polars.scan_parquet(parts).sink_parquet(
                    whole, compression="zstd", row_group_size=ROWS_PER_GROUP, maintain_order=True
                )
                with whole.open("rb+") as file:
                    os.fsync(file.fileno())
                whole.replace(path)
            finally:
                whole.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentFault(
            f"the calls cannot be exported to {path}: {error}. Make its folder writable or name "
            "another path; the calls are still in the cache"
        ) from error
    return count


def _line(call: StoredCall) -> tuple[str, ...]:
    return (
        call.key,
        call.kind,
        canonical_json(call.request),
        canonical_json(call.response),
        canonical_json(call.usage),
        call.model_version,
    )


def _read(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The lines of an export, some at a time."""
    import polars

    if not path.is_file():
        raise InputError(f"there is no export at {path}: name a Parquet file of `cache export`")
    try:
        scan = polars.scan_parquet(path)
        schema = scan.collect_schema()
        wrong = [name for name in COLUMNS if schema.get(name) != polars.String]
        if wrong:
            raise InputError(
                f"{path} is no export of calls: it lacks the text columns {', '.join(wrong)}"
            )
        at = 0
        while (group := scan.select(COLUMNS).slice(at, ROWS_PER_GROUP).collect()).height:
            for part in group.iter_slices(ROWS_PER_TRANSACTION):
                yield part.to_dicts()
            at += ROWS_PER_GROUP
    except (OSError, polars.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read as Parquet: {first}. Export it again") from error


def _checked(line: Mapping[str, Any]) -> StoredCall:
    """The call of an export's line, its key recomputed from its request. Raises ValueError."""
    missing = [name for name in COLUMNS if line[name] is None]
    if missing:
        raise ValueError(f"empty: {', '.join(missing)}")
    request = parse_json(line["request"])
    if not isinstance(request, dict):
        raise ValueError("its request is no JSON object")
    content = {
        "key": line["key"],
        "kind": line["kind"],
        "request": plain_request(request),
        "response": parse_json(line["response"]),
        "usage": parse_json(line["usage"]),
        "model_version": line["model_version"],
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    return from_text(canonical_json(content))
