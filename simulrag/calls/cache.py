"""One stage's view of the call cache: ask once, pay once."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self, get_args

from pydantic import JsonValue

from simulrag.calls.exchange import ImportReport, export_calls, import_calls
from simulrag.calls.keys import CallKind, canonical_json, key_of, request_text
from simulrag.calls.rows import (
    CALL,
    STAGE,
    Ledger,
    StageRun,
    StoredCall,
    corrupt,
    from_text,
    row_text,
)
from simulrag.calls.store import CachePlace, open_store, renamed_calls
from simulrag.errors import CacheError, CallsPending, EnvironmentFault, InputError, NotStored

log = logging.getLogger(__name__)

Mode = Literal["normal", "replay", "refresh", "deferred"]
_QUESTION: ContextVar[str] = ContextVar("question", default="")
_TELLING = ("task", "provider", "endpoint", "model", "sample_index", "simulator", "tool", "seed")


@contextmanager
def asked_for(question_id: str) -> Iterator[None]:
    """Note that calls asked for in here are of this question; exports name it."""
    token = _QUESTION.set(question_id)
    try:
        yield
    finally:
        _QUESTION.reset(token)


@dataclass(frozen=True)
class CallResult:
    """What a call returned. ``usage``: the provider's counts (tokens).

    ``context`` and ``service``: see StoredCall. ``latency_s``: seconds that it took by itself,
    without a wait for its turn; None: as long as was waited for it.
    """

    response: JsonValue
    usage: dict[str, int] = field(default_factory=dict)
    model_version: str = ""
    context: str = ""
    service: str = ""
    latency_s: float | None = None


@dataclass(frozen=True)
class CacheAnswer:
    """A stored call. ``hit``: nothing was paid for it by this request."""

    call: StoredCall
    hit: bool


@dataclass(eq=False)
class _Flight:
    task: asyncio.Task[CacheAnswer]
    waiters: int = 0


class CallCache:
    """The cache as one stage uses it; a context manager, bound to one event loop.

    ``mode``: "normal"; "replay" (a model call that is not stored is an error, a simulator run is
    made); "refresh" (each key is called again once in this run, and overwritten); "deferred" (as
    normal here: a caller that postpones its call raises CallsPending, which counts as no miss).

    ``made`` and ``taken`` count the model calls that this stage used, each once: made by it, and
    stored before. ``stage`` names the run in ``cache_stats``; None: a look that counts as no run.

    A call is made once in a process, however many ask for it. Two processes that ask for the same
    key at the same moment may, at worst, both make the call; the row that is stored first stands.

    Raises EnvironmentFault for a place that cannot be used, CacheError for a damaged database.
    """

    def __init__(self, place: CachePlace, *, stage: str | None, mode: Mode = "normal") -> None:
        self.place = place
        self.stage = stage
        self.mode: Mode = mode
        self._store = open_store(place)
        self._flights: dict[str, _Flight] = {}
        self._fresh: set[str] = set()
        self._used: dict[str, str] = {}
        self._questions: dict[str, set[str]] = {}
        self._unsaved: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self.made = 0
        self.taken = 0
        self._days: Counter[str] = Counter()
        self._versions: dict[str, str] = {}
        self._closed = False

    async def get_or_call(
        self,
        kind: CallKind,
        request: Mapping[str, JsonValue],
        call: Callable[[], Awaitable[CallResult]] | None,
        *,
        task: str = "",
    ) -> CacheAnswer:
        """Return the stored answer to ``request``, or ``call``'s, stored before it is returned.

        ``task``: what the call is for. It is in no key and no row; exports name it.

        Requests of one key share one call: all of them see its result or its very exception.
        Cancelling one of them does not touch the others; cancelling the last cancels the call. A
        failure is never stored. ``call`` None: nothing may be made.

        Raises InputError for a request that JSON cannot hold, CacheError for a corrupt row and for
        a response that JSON cannot hold, NotStored for a miss where nothing may be made,
        EnvironmentFault where the result cannot be stored, and whatever ``call`` raises.
        """
        if self._closed:
            raise RuntimeError("the call cache is closed")
        try:
            text = request_text(request)
        except ValueError as error:
            raise InputError(f"a {kind} call cannot be keyed: {error}") from error
        key = key_of(kind, text)
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            stored = self._find(kind, key, text)
            if stored is not None:
                return self._use(CacheAnswer(stored, hit=True), task)
            if call is None or (self.mode == "replay" and kind == "model"):
                self._counts[f"{kind}_missing"] += 1
                raise NotStored(
                    f"{_described(kind, request)} is not stored and nothing may be made (key {key})"
                )
            flight = _Flight(asyncio.create_task(self._make(kind, key, text, call)))
            self._flights[key] = flight
        answer = await self._wait(key, flight)
        return self._use(CacheAnswer(answer.call, hit=joined or answer.hit), task)

    def export(self, path: Path) -> int:
        """Write the calls that this stage used, sorted by key, to a Parquet file; their number.

        The bytes depend only on the calls: they hold no time and no latency.
        """
        return export_calls(self._store, self._used, self._questions, path)

    def import_calls(self, path: Path) -> ImportReport:
        """Take over the calls of an export that are not here yet; none in refresh mode.

        Raises InputError for a file that is not an export.
        """
        return ImportReport() if self.mode == "refresh" else import_calls(self._store, path)

    def ledger(self) -> Ledger:
        """Open the ledger of what the paid model calls of this cache took."""
        return Ledger(self._store)

    @property
    def used(self) -> Mapping[str, str]:
        """The keys of the calls that this stage used, each with its task: what an export holds."""
        return MappingProxyType(self._used)

    @property
    def questions(self) -> Mapping[str, Set[str]]:
        """By key the questions that a call was ``asked_for``, where it was for any."""
        return MappingProxyType(self._questions)

    @property
    def stored_days(self) -> dict[str, int]:
        """How many model calls were there already, by the day (UTC) on which they were stored."""
        return dict(sorted(self._days.items()))

    def adopt(
        self, used: Mapping[str, str], questions: Mapping[str, Set[str]], run: StageRun
    ) -> None:
        """Take as this stage's own what another process did for it in the same place."""
        self._used.update(used)
        for key, asked in questions.items():
            self._questions.setdefault(key, set()).update(asked)
        self.made += run.model_misses
        self.taken += run.model_hits
        for name, count in run.model_dump(exclude={"mode"}).items():
            if "_" in name:
                self._counts[name] += count

    def counts(self) -> dict[str, int]:
        """Count hits, misses and missing, together and by kind, as a StageRun does."""
        totals: dict[str, int] = {}
        for what in ("hits", "misses", "missing"):
            by_kind = {
                f"{kind}_{what}": self._counts[f"{kind}_{what}"] for kind in get_args(CallKind)
            }
            totals |= {what: sum(by_kind.values()), **by_kind}
        return totals

    def close(self) -> None:
        """Record this run's counts for ``cache_stats``; to be called after the last answer.

        Raises EnvironmentFault where that fails, naming the paid-for results that are lost.
        """
        if self._closed:
            return
        self._closed = True
        run = StageRun(mode=self.mode, **self.counts())
        try:
            self._keep({CALL + key: text for key, text in self._unsaved.items()})
            if self.stage is not None:
                self._store.put({STAGE + self.stage: canonical_json(run.model_dump())})
        except EnvironmentFault as error:
            if not self._unsaved:
                raise
            keys = ", ".join(sorted(self._unsaved))
            raise EnvironmentFault(f"{error}. Paid-for results are lost: {keys}") from error
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _wait(self, key: str, flight: _Flight) -> CacheAnswer:
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiters == 1 and not flight.task.done():
                self._flights.pop(key, None)  # who asks from now on must not join what is ending
                flight.task.cancel()
                await asyncio.wait({flight.task})
            raise
        finally:
            flight.waiters -= 1
            if flight.task.done() and self._flights.get(key) is flight:
                del self._flights[key]

    async def _make(
        self, kind: CallKind, key: str, request: str, call: Callable[[], Awaitable[CallResult]]
    ) -> CacheAnswer:
        paid_before = key in self._unsaved
        if not paid_before:
            self._counts[f"{kind}_misses"] += 1
            started = time.monotonic()
            try:
                result = await call()
            except CallsPending:
                self._counts[f"{kind}_misses"] -= 1
                raise
            if result.latency_s is None:
                result = replace(result, latency_s=time.monotonic() - started)
            self._unsaved[key] = _row(kind, key, request, result)
        row = CALL + key
        try:
            self._keep({row: self._unsaved[key]})
            text = self._store.get(row) or ""  # another process may have been faster
        except EnvironmentFault as error:
            raise EnvironmentFault(
                f"{error}. The call with key {key} was paid for; its result is kept in memory and "
                "stored when it is asked for again or this run ends, if the cache works by then"
            ) from error
        del self._unsaved[key]
        self._fresh.add(key)
        return CacheAnswer(self._trusted(kind, key, request, text), hit=paid_before)

    def _keep(self, rows: dict[str, str]) -> None:
        if self.mode == "refresh":
            self._store.put(rows)
        else:
            self._store.add(rows)

    def _find(self, kind: CallKind, key: str, request: str) -> StoredCall | None:
        """Read the row, if this run may use it. Raises CacheError where it cannot be trusted."""
        if self.mode == "refresh" and key not in self._fresh:
            return None
        text = self._store.get(CALL + key)
        if text is None and kind == "model" and key in self._renamed:
            raise corrupt(self._store.place, self._renamed[key], f"it holds the call {key}")
        return None if text is None else self._trusted(kind, key, request, text)

    @cached_property
    def _renamed(self) -> dict[str, str]:
        return renamed_calls(self.place)

    def _trusted(self, kind: CallKind, key: str, request: str, text: str) -> StoredCall:
        try:
            call = from_text(text, known=request)
            if (call.key, call.kind) != (key, kind):
                raise ValueError("it holds another call")
        except ValueError as error:
            raise corrupt(self._store.place, CALL + key, str(error)) from error
        return call

    def _use(self, answer: CacheAnswer, task: str) -> CacheAnswer:
        call = answer.call
        if call.kind == "model" and call.key not in self._used:
            if answer.hit and call.key not in self._fresh:
                self.taken += 1
            else:
                self.made += 1
        self._used.setdefault(call.key, task)
        if question := _QUESTION.get():
            self._questions.setdefault(call.key, set()).add(question)
        self._counts[f"{call.kind}_hits"] += answer.hit
        if answer.hit and call.kind == "model" and call.key not in self._fresh:
            self._days[call.time[:10]] += 1
        if call.kind == "model" and call.model_version:
            first = self._versions.setdefault(call.model_name, call.model_version)
            if first not in (call.model_version, "several"):
                self._versions[call.model_name] = "several"
                log.warning(
                    "%s answered in several versions (%s, %s): the results mix them. Mode refresh "
                    "asks everything again",
                    call.model_name,
                    first,
                    call.model_version,
                )
        return answer


def _row(kind: CallKind, key: str, request: str, result: CallResult) -> str:
    """Write the text of a new row. Raises CacheError for what JSON cannot hold."""
    try:
        text = row_text(key, kind, request, **vars(result))
        from_text(text, known=request)  # now, while what is wrong with it can still be told
    except ValueError as error:
        raise CacheError(
            f"{_described(kind, json.loads(request))} returned what JSON cannot hold, nothing was "
            f"stored: {error}"
        ) from error
    return text


def _described(kind: CallKind, request: Mapping[str, JsonValue]) -> str:
    """Put the call in words, for an error message."""
    details = [f"{name} {request[name]}" for name in _TELLING if name in request]
    return f"the {kind} call ({', '.join(details) or 'no details'})"
