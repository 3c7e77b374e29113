"""What is in a cache folder, read without trusting it: nothing is unpickled, nothing is written."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from simulrag.calls.keys import CallKind
from simulrag.calls.rows import DATABASE, MODE_RAW, PATIENCE_S
from simulrag.calls.stored import (
    CALL_PREFIX,
    HOLD_PREFIX,
    LEASE_PREFIX,
    SPENT_PREFIX,
    STAGE_PREFIX,
    SpentUsage,
    StageRun,
    StoredCall,
    corrupt,
    from_text,
    parse_json,
)
from simulrag.calls.tally import model_name
from simulrag.errors import CacheError
from simulrag.records import Record

_SELECT = "SELECT key, raw, expire_time, mode, filename, value FROM Cache ORDER BY key, raw"
_Row = tuple[object, object, object, object, object, object]


class ModelVersions(Record):
    """The versions of one model that answered, and how many calls each. ``mixed``: several."""

    provider: str
    endpoint: str
    model: str
    versions: dict[str, int]
    mixed: bool


class CacheStats(Record):
    """What a cache folder holds. ``stages``: the counts of each stage's last finished run."""

    entries: int
    by_kind: dict[CallKind, int]
    size_bytes: int
    stages: dict[str, StageRun]
    models: tuple[ModelVersions, ...]


class Problem(Record):
    """One row that cannot be trusted, and why."""

    key: str
    what: str


class VerifyReport(Record):
    """What checking every row found. ``rows``: those that were checked."""

    rows: int
    problems: tuple[Problem, ...]


def cache_stats(directory: Path) -> CacheStats:
    """Count what a folder holds; all zero where there is no cache yet.

    Raises CacheError for a row that cannot be trusted.
    """
    kinds: Counter[CallKind] = Counter()
    models: dict[tuple[str, str, str], Counter[str]] = {}
    stages: dict[str, StageRun] = {}
    for key, value in _trusted_rows(directory):
        if isinstance(value, StoredCall):
            kinds[value.kind] += 1
            if value.kind == "model":
                models.setdefault(model_name(value), Counter())[value.model_version] += 1
        elif isinstance(value, StageRun):
            stages[key.removeprefix(STAGE_PREFIX)] = value
    return CacheStats(
        entries=kinds.total(),
        by_kind=dict(sorted(kinds.items())),
        size_bytes=_size_bytes(directory),
        stages=stages,
        models=tuple(
            ModelVersions(
                provider=name[0],
                endpoint=name[1],
                model=name[2],
                versions=dict(sorted(versions.items())),
                mixed=len(versions) > 1,
            )
            for name, versions in sorted(models.items())
        ),
    )


def verify_cache(directory: Path) -> VerifyReport:
    """Check the database and every row: stored as inline text, JSON, its key its request's own."""
    rows = 0
    problems: list[Problem] = []
    try:
        with _opened(directory) as database:
            if database is None:
                return VerifyReport(rows=0, problems=())
            for (finding,) in database.execute("PRAGMA quick_check"):
                if finding != "ok":
                    problems.append(Problem(key=DATABASE, what=str(finding)))
            for row in database.execute(_SELECT):
                rows += 1
                try:
                    _value(row)
                except ValueError as error:
                    problems.append(Problem(key=_name(row), what=str(error)))
    except (CacheError, sqlite3.DatabaseError) as error:
        problems.append(Problem(key=DATABASE, what=str(error)))
    return VerifyReport(rows=rows, problems=tuple(problems))


def read_calls(directory: Path) -> Iterator[StoredCall]:
    """Every call of a folder, sorted by key. Raises CacheError for a row that is not trusted."""
    for _, value in _trusted_rows(directory):
        if isinstance(value, StoredCall):
            yield value


def _trusted_rows(directory: Path) -> Iterator[tuple[str, StoredCall | StageRun | None]]:
    with _opened(directory) as database:
        if database is None:
            return
        for row in database.execute(_SELECT):
            try:
                yield _name(row), _value(row)
            except ValueError as error:
                raise corrupt(directory, _name(row), str(error)) from error


@contextmanager
def _opened(directory: Path) -> Iterator[sqlite3.Connection | None]:
    """The database, read only; None where there is none. Raises CacheError."""
    path = (directory / DATABASE).absolute()
    if not path.exists():
        yield None
        return
    try:
        where = f"file:{quote(str(path))}?mode=ro"
        with closing(sqlite3.connect(where, uri=True, timeout=PATIENCE_S)) as database:
            # Bytes that are no UTF-8 must reach the check below, not end the reading.
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            yield database
    except sqlite3.DatabaseError as error:
        raise CacheError(
            f"{path} cannot be read as a call cache: {error}. Move the folder away or restore it"
        ) from error


def _value(row: _Row) -> StoredCall | StageRun | None:
    """What a row holds (None: neither call nor stage). ValueError where it cannot be trusted."""
    key, raw, expire_time, mode, filename, value = row
    if not isinstance(key, str) or raw != 1:
        raise ValueError("its key is no text: it would never be found")
    if expire_time is not None:
        raise ValueError("it has an expiry time: it would be lost")
    if mode != MODE_RAW or filename is not None or not isinstance(value, str):
        raise ValueError(f"it is no inline text (mode {mode})")
    if key.startswith(CALL_PREFIX):
        call = from_text(value)
        if CALL_PREFIX + call.key != key:
            raise ValueError("it holds another call")
        return call
    if key.startswith(STAGE_PREFIX):
        try:
            return StageRun.model_validate(parse_json(value))
        except ValidationError as error:
            raise ValueError(f"no counts of a stage: {error.errors()[0]['msg']}") from None
    if key.startswith(SPENT_PREFIX):
        try:
            SpentUsage.model_validate(parse_json(value))
        except ValidationError as error:
            raise ValueError(f"no spent usage: {error.errors()[0]['msg']}") from None
        return None
    if key.startswith((LEASE_PREFIX, HOLD_PREFIX)):
        parse_json(value)
        return None
    raise ValueError("no row of ours")


def _name(row: _Row) -> str:
    return row[0] if isinstance(row[0], str) else repr(row[0])


def _size_bytes(directory: Path) -> int:
    """The database with SQLite's log beside it."""
    return sum(path.stat().st_size for path in directory.glob(f"{DATABASE}*"))
