"""What is in a cache, read without trusting it: nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import JsonValue, ValidationError

from simulrag.calls.keys import CallKind, canonical_json, plain_request
from simulrag.calls.ledger import SpentUsage
from simulrag.calls.places import CachePlace
from simulrag.calls.store import DATABASE, ScannedRow, read_folder, scan_store
from simulrag.calls.stored import (
    CALL,
    SPENT,
    STAGE,
    StageRun,
    StoredCall,
    corrupt,
    from_text,
    parse_json,
)
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
    """Seconds that the calls of one model or simulator took that were made on this machine.

    Waits and repeated attempts included; what was imported has no times and is left out.
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
    stages: dict[str, StageRun] = {}
    kinds: defaultdict[CallKind, int] = defaultdict(int)
    models: defaultdict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
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
                name = f"{call.model_name[0]}: {call.model_name[2]}"
                versions = models[call.model_name]
                versions[call.model_version] = versions.get(call.model_version, 0) + 1
            if call.latency_s:
                took[name].append(call.latency_s)
    if isinstance(place, Path):
        size = sum(path.stat().st_size for path in place.glob(f"{DATABASE}*"))
    return CacheStats(
        entries=sum(kinds.values()),
        by_kind=dict(sorted(kinds.items())),
        size_bytes=size,
        stages=stages,
        models=tuple(
            ModelVersions(
                **dict(zip(("provider", "endpoint", "model"), name, strict=True)),
                versions=dict(sorted(versions.items())),
                mixed=len(versions) > 1,
            )
            for name, versions in sorted(models.items())
        ),
        times=tuple(
            CallTimes(name=name, calls=len(s), total_s=sum(s), median_s=median(s), slowest_s=max(s))
            for name, s in sorted(took.items())
        ),
    )


def verify_cache(place: CachePlace) -> VerifyReport:
    """Check every row: stored as text, JSON, its key its request's own; and a folder's database."""
    rows = 0
    problems: list[Problem] = []
    try:
        if isinstance(place, Path):
            found = (str(what) for (what,) in read_folder(place, "PRAGMA quick_check"))
            problems += (Problem(key=DATABASE, what=what) for what in found if what != "ok")
        for row in scan_store(place):
            rows += 1
            try:
                read_row(row)
            except ValueError as error:
                problems.append(Problem(key=row.row, what=str(error)))
    except CacheError as error:
        problems.append(Problem(key=str(place), what=str(error)))
    return VerifyReport(rows=rows, problems=tuple(problems))


def read_calls(place: CachePlace) -> Iterator[StoredCall]:
    """Every call of a cache, sorted by key. Raises CacheError for a row that is not trusted."""
    for row in scan_store(place, CALL):
        value = _trusted(place, row)
        if isinstance(value, StoredCall):
            yield value


def read_row(row: ScannedRow) -> StoredCall | StageRun | None:
    """What a row holds (None: neither call nor stage). ValueError where it cannot be trusted."""
    if row.problem is not None:
        raise ValueError(row.problem)
    if row.row.startswith(CALL):
        call = from_text(row.text)
        if CALL + call.key != row.row:
            raise ValueError("it holds another call")
        return call
    content = parse_json(row.text)
    try:
        if row.row.startswith(STAGE):
            return StageRun.model_validate(content)
        if row.row.startswith(SPENT):
            SpentUsage.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"not what its name says: {error.errors()[0]['msg']}") from None
    if not row.row.startswith((SPENT, "hold/", "lease/")):  # leases: of earlier versions
        raise ValueError("not a row of a call cache")
    return None


def explain_miss(place: CachePlace, request: Mapping[str, JsonValue]) -> str:
    """Why a model call is not stored: the nearest recorded call and what differs, in a sentence.

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
            alike = _alike(_said(there), _said(wanted))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # a simulator run, or a row that `simulrag cache verify` tells of
        best = max(best, (equal, alike, there), key=lambda found: found[:2])
    there = best[2]
    if not there:
        return f"No call like it is recorded ('{kind}')."
    names = [name for name in sorted({*wanted, *there}) if wanted.get(name) != there.get(name)]
    told = "; ".join(_difference(name, there, wanted) for name in names)
    return f"The nearest recorded call ('{kind}') differs: {told}."


def _kind(request: Mapping[str, Any]) -> str:
    """What kind of question it is: its schema's title, else the first line of its messages."""
    title = (request.get("schema") or {}).get("title")
    return str(title) if title else _said(request).partition("\n")[0][:80]


def _said(request: Mapping[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in request["messages"])


def _alike(one: str, two: str) -> int:
    """How many characters are the same from the beginning on."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
        min(len(one), len(two)),
    )


def _difference(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    if name != "messages":
        old, new = canonical_json(there.get(name)), canonical_json(here.get(name))
        long = len(old + new) > 160
        return f"another {name}" if long else f"{name} is {old} there and {new} here"
    texts = _said(there), _said(here)
    at = _alike(*texts)
    old, new = (" ".join(text[max(0, at - 20) : at + 40].split()) for text in texts)
    return f"its messages, from character {at} on: '{old}' there, '{new}' here"


def _trusted(place: CachePlace, row: ScannedRow) -> StoredCall | StageRun | None:
    try:
        return read_row(row)
    except ValueError as error:
        raise corrupt(place, row.row, str(error)) from error
