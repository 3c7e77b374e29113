"""One stage's view of the call cache: ask once, pay once, in every process that shares it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from pydantic import JsonValue

from simulrag.calls import leases
from simulrag.calls.exchange import ImportReport, export_calls, import_calls
from simulrag.calls.fence import Unsaved, commit, find_call, row_before
from simulrag.calls.flights import Flights
from simulrag.calls.keys import CallKind, call_key, canonical_json, plain_request
from simulrag.calls.leases import LEASE_S, Lease, Renewals
from simulrag.calls.ledger import Ledger
from simulrag.calls.making import CallResult, described, make_call
from simulrag.calls.opening import open_rows
from simulrag.calls.places import CachePlace
from simulrag.calls.rows import BusyError
from simulrag.calls.stored import STAGE_PREFIX, StageRun, StoredCall
from simulrag.calls.tally import Tally
from simulrag.errors import CacheError, CallsPending, EnvironmentFault, InputError, SimulRAGError

Mode = Literal["normal", "replay", "refresh", "deferred"]

SHORTEST_POLL_S = 0.05
LONGEST_POLL_S = 0.2


@dataclass(frozen=True)
class CacheAnswer:
    """A stored call. ``hit``: nothing was paid for it by this request."""

    call: StoredCall
    hit: bool


class CallCache:
    """The cache as one stage uses it; a context manager, bound to one event loop.

    ``mode``: "normal"; "replay" (a miss is an error); "refresh" (each key is called again once in
    this run, and overwritten); "deferred" (as normal here: a caller that postpones its call raises
    CallsPending, which counts as no miss). ``lease_s``: how long, in seconds, other processes wait
    for one that died during a call.

    A folder never lies on a network file system: SQLite's locks do not hold there.

    Raises EnvironmentFault for a place that cannot be used, CacheError for a damaged database.
    """

    def __init__(
        self, place: CachePlace, *, stage: str, mode: Mode = "normal", lease_s: float = LEASE_S
    ) -> None:
        self.stage = stage
        self.mode: Mode = mode
        self._rows = open_rows(place)
        self._lease_s = lease_s
        self._renewals = Renewals(self._rows, lease_s)
        self._flights: Flights[CacheAnswer] = Flights()
        self._fresh: set[str] = set()
        self._used: set[str] = set()
        self._unsaved: dict[str, Unsaved] = {}
        self._tally = Tally()
        self._closed = False

    async def get_or_call(
        self,
        kind: CallKind,
        request: Mapping[str, JsonValue],
        call: Callable[[], Awaitable[CallResult]],
    ) -> CacheAnswer:
        """The stored answer to ``request``, or ``call``'s, stored before it is returned.

        Requests of one key share one call: within this process all of them see its result or its
        very exception; another process waits for the row. Cancelling one of them leaves the others
        alone; cancelling the last cancels the call. A failure is never stored.

        Raises InputError for a request that JSON cannot hold, CacheError for a corrupt row, for a
        miss in replay mode and for a response that JSON cannot hold, EnvironmentFault where the
        result cannot be stored, and whatever ``call`` raises.
        """
        if self._closed:
            raise RuntimeError("the call cache is closed")
        try:
            plain = plain_request(request)
            key = call_key(kind, plain)
        except ValueError as error:
            raise InputError(f"a {kind} call cannot be keyed: {error}") from error
        flight = self._flights.under_way(key)
        joined = flight is not None
        if flight is None:
            with suppress(BusyError):  # the flight below waits for it
                stored = self._find(key)
                if stored is not None:
                    return self._use(CacheAnswer(stored, hit=True))
            flight = self._flights.start(key, lambda: self._fly(kind, key, plain, call))
        answer = await self._flights.wait(key, flight)
        return self._use(CacheAnswer(answer.call, hit=joined or answer.hit))

    def export(self, path: Path) -> int:
        """Write the calls that this stage used, sorted by key, to a Parquet file; their number.

        The bytes depend on the calls alone: no time and no latency is in them.
        """
        return export_calls(self._rows, self._used, path)

    def import_calls(self, path: Path) -> ImportReport:
        """Take over the calls of an export that are not here yet; none in refresh mode.

        Raises InputError for a file that is no export.
        """
        if self.mode == "refresh":
            return ImportReport()
        return import_calls(self._rows, path)

    def ledger(self) -> Ledger:
        """What the model calls of this cache took."""
        return Ledger(self._rows)

    @property
    def hits(self) -> int:
        """Answers for which nothing was paid in this run."""
        return self._tally.hits

    @property
    def misses(self) -> int:
        """Calls that were made in this run, failed ones too."""
        return self._tally.misses

    @property
    def used(self) -> frozenset[str]:
        """The keys of the calls that this stage used: what an export holds."""
        return frozenset(self._used)

    def adopt(self, used: Iterable[str], run: StageRun) -> None:
        """Take as this stage's own what another process did for it in the same folder."""
        self._used.update(used)
        self._tally.adopt(run)

    def counts(self) -> dict[str, int]:
        """Hits and misses, together and by kind."""
        return self._tally.counts()

    def close(self) -> None:
        """Record this run's counts for ``cache_stats``; to be called after the last answer.

        Raises EnvironmentFault where that fails, naming the paid-for results that are lost.
        """
        if self._closed:
            return
        self._closed = True
        run = StageRun(mode=self.mode, **self.counts())

        def finish() -> None:
            for unsaved in self._unsaved.values():
                commit(self._rows, unsaved)
            self._rows.set(STAGE_PREFIX + self.stage, canonical_json(run.model_dump()))

        try:
            self._rows.patiently_now(lambda: self._rows.transact(finish))
        except EnvironmentFault as error:
            if not self._unsaved:
                raise
            keys = ", ".join(sorted(self._unsaved))
            raise EnvironmentFault(f"{error}. Paid-for results are lost: {keys}") from error
        finally:
            self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def _fly(
        self,
        kind: CallKind,
        key: str,
        request: dict[str, JsonValue],
        call: Callable[[], Awaitable[CallResult]],
    ) -> CacheAnswer:
        lease = Lease(key, self._lease_s)
        found = await self._find_or_take(kind, key, request, lease)
        if found is not None:
            return CacheAnswer(found, hit=True)
        self._renewals.begin(lease)
        try:
            before = None
            if self.mode == "refresh":
                before = await self._rows.patiently(lambda: row_before(self._rows, key))
            paid_before = key in self._unsaved
            if not paid_before:
                self._tally.miss(kind)
                text = await make_call(kind, key, request, call)
                self._unsaved[key] = Unsaved(key, text, before, lease.owner)
            return CacheAnswer(await self._store(key, lease), hit=paid_before)
        except BaseException as error:
            if isinstance(error, CallsPending):
                self._tally.postponed(kind)
            # At once and without waiting: this may be a cancellation. A lease that stays ends by
            # itself, and the error that is on its way matters more.
            with suppress(BusyError, SimulRAGError):
                self._rows.transact(lambda: leases.release(self._rows, lease), durable=False)
            raise
        finally:
            self._renewals.end(lease)

    async def _find_or_take(
        self, kind: CallKind, key: str, request: dict[str, JsonValue], lease: Lease
    ) -> StoredCall | None:
        """The row once another process has stored it, or None: the lease is ours."""

        def look() -> StoredCall | bool:
            found = self._find(key)
            if found is None and self.mode == "replay":
                raise CacheError(
                    f"replay mode, but {described(kind, request)} is not stored (key {key}). Run "
                    "in mode normal, or bring the export that holds it (data/calls)"
                )
            # Reading first: only a free lease is worth a write lock. Within it both are read again.
            if found is not None or not leases.is_free(self._rows, lease):
                return found or False
            return self._rows.transact(
                lambda: self._find(key) or leases.take(self._rows, lease), durable=False
            )

        while True:
            outcome = await self._rows.patiently(look)
            if isinstance(outcome, StoredCall):
                return outcome
            if outcome:
                return None
            await asyncio.sleep(random.uniform(SHORTEST_POLL_S, LONGEST_POLL_S))  # noqa: S311

    async def _store(self, key: str, lease: Lease) -> StoredCall:
        """Commit a result and give the lease back, in one transaction."""

        def finish() -> StoredCall:
            call = commit(self._rows, self._unsaved[key])
            leases.release(self._rows, lease)
            return call

        try:
            call = await self._rows.patiently(lambda: self._rows.transact(finish))
        except EnvironmentFault as error:
            raise EnvironmentFault(
                f"{error}. The call with key {key} was paid for; its result is kept in memory and "
                "stored when it is asked for again or this run ends, if the cache works by then"
            ) from error
        del self._unsaved[key]
        if self.mode == "refresh":
            self._fresh.add(key)
        return call

    def _find(self, key: str) -> StoredCall | None:
        """The row, if this run may use it. Raises CacheError where it cannot be trusted."""
        if self.mode == "refresh" and key not in self._fresh:
            return None
        return find_call(self._rows, key)

    def _use(self, answer: CacheAnswer) -> CacheAnswer:
        self._used.add(answer.call.key)
        if answer.hit:
            self._tally.hit(answer.call.kind)
        self._tally.version(answer.call)
        return answer
