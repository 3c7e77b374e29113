"""What is in a cache, read without trusting it; and why a call is not: nothing is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import Field, JsonValue

from simulrag.calls.keys import CallKind, canonical_json, plain_request
from simulrag.calls.rows import (
    CALL,
    SPENT,
    STAGE,
    SpentUsage,
    StageRun,
    StoredCall,
    corrupt,
    from_text,
    parse_json,
)
from simulrag.calls.store import DATABASE, CachePlace, ScannedRow, read_folder, scan_store
from simulrag.errors import CacheError
from simulrag.records import Record


class CallTimes(Record):
    """Seconds that the calls of one model or simulator took that were made on this machine.

    Repeated attempts included; what was imported or came in a batch has no times and is left out.
    """

    name: str
    calls: int
    total_s: float
    median_s: float
    slowest_s: float


class CacheStats(Record):
    """What a cache holds. ``stages``: the counts of each stage's last finished run.

    ``versions``: how many calls each version of a model answered, by provider/endpoint/model.
    ``size_bytes``: of a folder's database, or of the text of all rows in Redis.
    """

    entries: int = 0
    by_kind: dict[CallKind, int] = Field(default_factory=dict)
    size_bytes: int = 0
    stages: dict[str, StageRun] = Field(default_factory=dict)
    versions: dict[str, dict[str, int]] = Field(default_factory=dict)
    times: tuple[CallTimes, ...] = ()


class RowProblem(Record):
    """One row that cannot be trusted, and why."""

    key: str
    what: str


class VerifyReport(Record):
    """What checking every row found. ``rows``: those that were checked."""

    rows: int
    problems: tuple[RowProblem, ...]


def cache_stats(place: CachePlace) -> CacheStats:
    """Count what a cache holds; all zero where there is none yet.

    Raises CacheError for a row that cannot be trusted, EnvironmentFault for a Redis out of reach.
    """
    stages: dict[str, StageRun] = {}
    kinds: Counter[CallKind] = Counter()
    versions: defaultdict[str, Counter[str]] = defaultdict(Counter)
    took: defaultdict[str, list[float]] = defaultdict(list)
    size = 0
    for row in scan_store(place):
        call = _trusted(place, row)
        size += len(row.row) + len(row.text.encode())
        if isinstance(call, StageRun):
            stages[row.row.removeprefix(STAGE)] = call
        elif call is not None:
            kinds[call.kind] += 1
            name = f"{call.request.get('simulator')}.{call.request.get('tool')}"
            if call.kind == "model":
                name = call.model_name
                versions[name][call.model_version] += 1
            if call.latency_s:
                took[name].append(call.latency_s)
    if isinstance(place, Path):
        size = sum(path.stat().st_size for path in place.glob(f"{DATABASE}*"))
    times = (
        CallTimes(name=name, calls=len(s), total_s=sum(s), median_s=median(s), slowest_s=max(s))
        for name, s in sorted(took.items())
    )
    return CacheStats(
        entries=kinds.total(),
        by_kind=dict(sorted(kinds.items())),
        size_bytes=size,
        stages=stages,
        versions={name: dict(sorted(calls.items())) for name, calls in sorted(versions.items())},
        times=tuple(times),
    )


def verify_cache(place: CachePlace) -> VerifyReport:
    """Check every row: stored as text, JSON, its key its request's own; and a folder's database."""
    rows = 0
    problems: list[RowProblem] = []
    try:
        if isinstance(place, Path):
            damages = (str(what) for (what,) in read_folder(place, "PRAGMA quick_check"))
            problems += (RowProblem(key=DATABASE, what=what) for what in damages if what != "ok")
        for row in scan_store(place):
            rows += 1
            try:
                read_row(row)
            except ValueError as error:
                problems.append(RowProblem(key=row.row, what=str(error)))
    except CacheError as error:
        problems.append(RowProblem(key=str(place), what=str(error)))
    return VerifyReport(rows=rows, problems=tuple(problems))


def read_calls(place: CachePlace, key: str = "") -> Iterator[StoredCall]:
    """Read the calls of a cache whose key begins like this, sorted by key.

    Raises CacheError for a row that is not trusted.
    """
    for row in scan_store(place, CALL + key):
        value = _trusted(place, row)
        if isinstance(value, StoredCall):
            yield value


def read_row(row: ScannedRow) -> StoredCall | StageRun | None:
    """Read a row (None: neither call nor stage). Raises ValueError where it is not trusted."""
    if row.problem is not None:
        raise ValueError(row.problem)
    kind = row.row.partition("/")[0] + "/"
    if kind == CALL:
        call = from_text(row.text)
        if CALL + call.key != row.row:
            raise ValueError("it holds another call")
        return call
    content = parse_json(row.text)
    if kind == STAGE:
        return StageRun.model_validate(content)
    if kind == SPENT:
        SpentUsage.model_validate(content)
    elif kind != "hold/":
        raise ValueError("not a row of a call cache")
    return None


def _trusted(place: CachePlace, row: ScannedRow) -> StoredCall | StageRun | None:
    try:
        return read_row(row)
    except ValueError as error:
        raise corrupt(place, row.row, str(error)) from error


def explain_miss(place: CachePlace, request: Mapping[str, JsonValue]) -> str:
    """Explain in a sentence why a model call is not stored, by the nearest recorded call.

    The nearest has the same schema (or, for free text, the same first line), then the most equal
    fields, then the longest equal beginning of its messages.
    """
    wanted = plain_request(request)
    kind = _kind(wanted)
    best: tuple[int, int, dict[str, Any]] = (-1, -1, {})
    for row in scan_store(place, CALL):
        try:
            there = parse_json(row.text)["request"]
            if _kind(there) != kind:
                continue
            equal = sum(there.get(name) == value for name, value in wanted.items())
            alike = _alike(_text(there), _text(wanted))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # a simulator run, or a row that `simulrag cache verify` tells of
        best = max(best, (equal, alike, there), key=lambda candidate: candidate[:2])
    there = best[2]
    if not there:
        return f"No call like it is recorded ('{kind}')."
    names = [name for name in sorted({*wanted, *there}) if wanted.get(name) != there.get(name)]
    differences = "; ".join(_difference(name, there, wanted) for name in names)
    return f"The nearest recorded call ('{kind}') differs: {differences}."


def _kind(request: Mapping[str, Any]) -> str:
    """Name the kind of question: its schema's title, else the first line of its messages."""
    title = (request.get("schema") or {}).get("title")
    return str(title) if title else _text(request).partition("\n")[0][:80]


def _text(request: Mapping[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in request["messages"])


def _alike(left: str, right: str) -> int:
    """Count the characters that are the same from the beginning on."""
    return next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )


def _difference(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    if name != "messages":
        old, new = canonical_json(there.get(name)), canonical_json(here.get(name))
        long = len(old + new) > 160
        return f"another {name}" if long else f"{name} is {old} there and {new} here"
    texts = _text(there), _text(here)
    at = _alike(*texts)
    old, new = (" ".join(text[max(0, at - 20) : at + 40].split()) for text in texts)
    return f"its messages, from character {at} on: '{old}' there, '{new}' here"
