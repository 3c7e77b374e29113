"""Exports: the calls of a stage as a Parquet file that another clone can start from.

A file holds one call a row, sorted by key, in the columns key, kind, request, response, usage,
model_version, context, task and questions; request, response and usage are canonical JSON text. The
last three are in no key: ``context`` names who wrote a reply that came by a file (null: not told),
the task is "" for simulator runs, ``questions`` holds the identifiers of those that the call was
asked for, sorted, a space between them; both are "" where a whole cache is exported. Files without
these columns are imported all the same. Times, latencies and prices are left out, so that
the same calls give the same bytes on every machine. Both directions go part by part: what is held
at a time does not grow with the file.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing
from itertools import islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from simulrag.calls.inspection import read_calls, read_row
from simulrag.calls.keys import encoded, key_of
from simulrag.calls.rows import (
    CALL,
    SPENT,
    STAGE,
    StoredCall,
    corrupt,
    from_text,
    parse_json,
    row_text,
)
from simulrag.calls.store import CachePlace, holds_rows, open_store, scan_store
from simulrag.errors import CacheError, EnvironmentFault, InputError
from simulrag.records import Record, Usage

if TYPE_CHECKING:
    from simulrag.calls.store import Store

COLUMNS = ("key", "kind", "request", "response", "usage", "model_version")
TOLD = ("context", "task", "questions")
"""What an export tells further of a call."""
ROWS_PER_TRANSACTION = 512
ROWS_PER_GROUP = 1024
"""Of a file's row groups, of which a few are in memory at a time: 3 to 10 MB of text each."""


class ImportReport(Record):
    """What an import or a copy did: rows taken over, rows that were there already, "row: why"."""

    imported: int = 0
    present: int = 0
    refused: tuple[str, ...] = ()


def export_cache(place: CachePlace, path: Path) -> int:
    """Write every call of a cache to a Parquet file; their number.

    Raises CacheError for a row that cannot be trusted, EnvironmentFault for an unwritable path.
    """
    return _write(((call, "", "") for call in read_calls(place)), path)


def export_calls(
    store: Store, used: Mapping[str, str], questions: Mapping[str, Set[str]], path: Path
) -> int:
    """Write the calls with these keys, each with its task and questions; their number.

    Raises CacheError for a row that is gone or corrupt, EnvironmentFault for an unwritable path.
    """
    calls = (
        (_stored(store, key), used[key], " ".join(sorted(questions.get(key, ()))))
        for key in sorted(used)
    )
    return _write(calls, path)


def import_cache(place: CachePlace, *paths: Path) -> ImportReport:
    """Take over the calls of exports that a cache does not hold yet.

    Raises InputError for a file that is not an export, EnvironmentFault for an unwritable cache.
    """
    with closing(open_store(place)) as store:
        reports = [import_calls(store, path) for path in paths]
    return ImportReport(
        imported=sum(report.imported for report in reports),
        present=sum(report.present for report in reports),
        refused=tuple(line for report in reports for line in report.refused),
    )


def import_calls(store: Store, path: Path) -> ImportReport:
    """Take over the calls of an export that are not there yet; no row is ever overwritten.

    A row whose key does not belong to its request is refused. Whether its response is what the
    model said cannot be checked: import from those you trust. Raises InputError for a file that is
    not an export.
    """
    refused: list[str] = []
    imported = present = 0
    for lines in _read(path):
        there = store.present([f"{CALL}{line['key']}" for line in lines])
        rows: dict[str, str] = {}
        for line in lines:
            row = f"{CALL}{line['key']}"
            if row in there:
                present += 1
                continue
            try:
                rows[row] = _checked(line)
            except ValueError as error:
                refused.append(f"{line['key']}: {error}")
        imported += store.add(rows)
    return ImportReport(imported=imported, present=present, refused=tuple(refused))


def copy_cache(source: CachePlace, target: CachePlace) -> ImportReport:
    """Copy calls with all they say, what was paid, and stages' counts from one place to another.

    No row is overwritten, so it may be repeated, also after an interruption. Raises InputError
    without a cache at ``source``, EnvironmentFault where one of the two cannot be used.
    """
    if not holds_rows(source):
        raise InputError(f"there is no call cache at {source}")
    refused: list[str] = []
    copied = seen = 0
    rows = (row for kind in (SPENT, CALL, STAGE) for row in scan_store(source, kind))
    with closing(open_store(target)) as store:
        while batch := list(islice(rows, ROWS_PER_TRANSACTION)):
            trusted: dict[str, str] = {}
            for row in batch:
                try:
                    read_row(row)
                    trusted[row.row] = row.text
                except ValueError as error:
                    refused.append(f"{row.row}: {error}")
            copied, seen = copied + store.add(trusted), seen + len(trusted)
    return ImportReport(imported=copied, present=seen - copied, refused=tuple(refused))


def _stored(store: Store, key: str) -> StoredCall:
    row = CALL + key
    text = store.get(row)
    if text is None:
        raise CacheError(
            f"the cache row {row} in {store.place} was used by this run and is gone: another "
            "program removed it. Run the stage again"
        )
    try:
        return from_text(text)
    except ValueError as error:
        raise corrupt(store.place, row, str(error)) from error


def _write(calls: Iterable[tuple[StoredCall, str, str]], path: Path) -> int:
    """Write a file beside, part by part, which then takes the name: no half file is ever seen."""
    import polars

    schema = dict.fromkeys((*COLUMNS, *TOLD), polars.String)
    whole = path.parent / f".{path.name}.{secrets.token_hex(8)}.part"
    lines = starmap(_line, calls)
    parts: list[Path] = []
    count = 0
    try:
        if path.exists() and not path.is_file():  # a device, a pipe: not ours to replace
            raise OSError("it is no file")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="simulrag-") as folder:
            while (batch := list(islice(lines, ROWS_PER_TRANSACTION))) or not parts:
                count += len(batch)
                parts.append(Path(folder) / f"{len(parts)}.parquet")
                frame = polars.DataFrame(batch, schema=schema, orient="row")
                frame.write_parquet(parts[-1], compression="uncompressed")
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


def _line(call: StoredCall, task: str, questions: str) -> tuple[str | None, ...]:
    parts = (encoded(part) for part in (call.request, call.response, call.usage))
    context = call.context or None
    return call.key, call.kind, *parts, call.model_version, context, task, questions


def _read(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Read the lines of an export, some at a time."""
    import polars

    if not path.is_file():
        raise InputError(f"there is no export at {path}: name a Parquet file of `cache export`")
    try:
        scan = polars.scan_parquet(path)
        schema = scan.collect_schema()
        wrong = [name for name in COLUMNS if schema.get(name) != polars.String]
        if wrong:
            raise InputError(
                f"{path} is not an export of calls: it lacks the text columns {', '.join(wrong)}"
            )
        columns = [*COLUMNS, *(name for name in ("context",) if name in schema)]
        at = 0
        while (group := scan.select(columns).slice(at, ROWS_PER_GROUP).collect()).height:
            for part in group.iter_slices(ROWS_PER_TRANSACTION):
                yield part.to_dicts()
            at += ROWS_PER_GROUP
    except (OSError, polars.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read as Parquet: {first}. Export it again") from error


def _checked(line: Mapping[str, Any]) -> str:
    """Write the text of the row that an export's line becomes. Raises ValueError.

    The key is the hash of the request's canonical text, so one hash says that the text is canonical
    and that the request is the key's: it need not be parsed.
    """
    missing = [name for name in COLUMNS if line[name] is None]
    if missing:
        raise ValueError(f"empty: {', '.join(missing)}")
    if key_of(line["kind"], line["request"]) != line["key"]:
        raise ValueError("its key does not belong to its request")
    usage, response = parse_json(line["usage"]), parse_json(line["response"])
    try:
        Usage.model_validate(usage, strict=True)
    except ValidationError:
        raise ValueError("its usage is not an object of counts of calls and tokens") from None
    more = {"response": response, "usage": usage, "model_version": line["model_version"]}
    more["context"] = line.get("context") or ""
    return row_text(line["key"], line["kind"], line["request"], **more)
