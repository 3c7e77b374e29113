"""What is in a cache, read without trusting it: nothing is written."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from pydantic import ValidationError

from simulrag.calls.folder_scan import DATABASE, check_folder, folder_size_bytes
from simulrag.calls.keys import CallKind
from simulrag.calls.opening import scan_rows
from simulrag.calls.places import CachePlace
from simulrag.calls.rows import ScannedRow
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


class ModelVersions(Record):
    """The versions of one model that answered, and how many calls each. ``mixed``: several."""

    provider: str
    endpoint: str
    model: str
    versions: dict[str, int]
    mixed: bool


class CallTimes(Record):
    """How long the calls of one model or simulator took that were made on this machine.

    Seconds a call, the wait for a free slot and repeated attempts included. ``calls`` leaves out
    what was imported: exports hold no times.
    """

    name: str
    calls: int
    total_s: float
    median_s: float
    slowest_s: float


class CacheStats(Record):
    """What a cache holds. ``stages``: the counts of each stage's last finished run.

    ``size_bytes``: of a folder's database, or of the text of all rows in Redis.
    """

    entries: int
    by_kind: dict[CallKind, int]
    size_bytes: int
    stages: dict[str, StageRun]
    models: tuple[ModelVersions, ...]
    times: tuple[CallTimes, ...]


class Problem(Record):
    """One row that cannot be trusted, and why."""

    key: str
    what: str


class VerifyReport(Record):
    """What checking every row found. ``rows``: those that were checked."""

    rows: int
    problems: tuple[Problem, ...]


def cache_stats(place: CachePlace) -> CacheStats:
    """Count what a cache holds; all zero where there is none yet.

    Raises CacheError for a row that cannot be trusted, EnvironmentFault for a Redis out of reach.
    """
    kinds: Counter[CallKind] = Counter()
    models: dict[tuple[str, str, str], Counter[str]] = {}
    stages: dict[str, StageRun] = {}
    took: dict[str, list[float]] = {}
    text_bytes = 0
    for row in scan_rows(place):
        value = _trusted(place, row)
        text_bytes += len(row.row) + len(row.text.encode())
        if isinstance(value, StoredCall):
            kinds[value.kind] += 1
            if value.latency_s:
                took.setdefault(_called(value), []).append(value.latency_s)
            if value.kind == "model":
                models.setdefault(model_name(value), Counter())[value.model_version] += 1
        elif isinstance(value, StageRun):
            stages[row.row.removeprefix(STAGE_PREFIX)] = value
    return CacheStats(
        entries=kinds.total(),
        by_kind=dict(sorted(kinds.items())),
        size_bytes=folder_size_bytes(place) if isinstance(place, Path) else text_bytes,
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
        times=tuple(
            CallTimes(
                name=name,
                calls=len(seconds),
                total_s=sum(seconds),
                median_s=median(seconds),
                slowest_s=max(seconds),
            )
            for name, seconds in sorted(took.items())
        ),
    )


def _called(call: StoredCall) -> str:
    """The model with its provider, or the simulator's tool."""
    if call.kind == "model":
        provider, _, model = model_name(call)
        return f"{provider}: {model}"
    return f"{call.request.get('simulator')}.{call.request.get('tool')}"


def verify_cache(place: CachePlace) -> VerifyReport:
    """Check every row: stored as text, JSON, its key its request's own; and a folder's database."""
    rows = 0
    problems: list[Problem] = []
    try:
        if isinstance(place, Path):
            problems += (Problem(key=DATABASE, what=what) for what in check_folder(place))
        for row in scan_rows(place):
            rows += 1
            try:
                read_row(row)
            except ValueError as error:
                problems.append(Problem(key=row.row, what=str(error)))
    except (CacheError, sqlite3.DatabaseError) as error:
        key = DATABASE if isinstance(place, Path) else str(place)
        problems.append(Problem(key=key, what=str(error)))
    return VerifyReport(rows=rows, problems=tuple(problems))


def read_calls(place: CachePlace) -> Iterator[StoredCall]:
    """Every call of a cache, sorted by key. Raises CacheError for a row that is not trusted."""
    for row in scan_rows(place):
        value = _trusted(place, row)
        if isinstance(value, StoredCall):
            yield value


def read_row(row: ScannedRow) -> StoredCall | StageRun | None:
    """What a row holds (None: neither call nor stage). ValueError where it cannot be trusted."""
    if row.problem is not None:
        raise ValueError(row.problem)
    name, text = row.row, row.text
    if name.startswith(CALL_PREFIX):
        call = from_text(text)
        if CALL_PREFIX + call.key != name:
            raise ValueError("it holds another call")
        return call
    if name.startswith(STAGE_PREFIX):
        try:
            return StageRun.model_validate(parse_json(text))
        except ValidationError as error:
            raise ValueError(f"no counts of a stage: {error.errors()[0]['msg']}") from None
    if name.startswith(SPENT_PREFIX):
        try:
            SpentUsage.model_validate(parse_json(text))
        except ValidationError as error:
            raise ValueError(f"no spent usage: {error.errors()[0]['msg']}") from None
        return None
    if name.startswith((LEASE_PREFIX, HOLD_PREFIX)):
        parse_json(text)
        return None
    raise ValueError("no row of ours")


def _trusted(place: CachePlace, row: ScannedRow) -> StoredCall | StageRun | None:
    try:
        return read_row(row)
    except ValueError as error:
        raise corrupt(place, row.row, str(error)) from error
