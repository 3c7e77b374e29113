"""Calls that wait for a batch: collected instead of made, and answered by an import.

One text row a request, beside the call cache's rows (a folder below its own, or keys of another
name in the same Redis database), so that ``simulrag cache`` sees only calls that were paid for. A
row's id is the key of exactly what is sent: the call's own key, or for a repair the key of the
conversation with the bad reply in it. So a reply to other words than ours finds no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Literal, TypeVar

from pydantic import JsonValue, ValidationError

from simulrag.calls.keys import call_key, canonical_json, plain_request
from simulrag.calls.rows import corrupt, parse_json
from simulrag.calls.store import CachePlace, holds_rows, open_store, pending_place, scan_store
from simulrag.errors import (
    CallsPending,
    ModelError,
    ModelUnavailable,
    ReplyRefused,
    ReplyTruncated,
)
from simulrag.models.base import FirstTokens, Message, ProviderReply, Request
from simulrag.models.live import LiveReplies
from simulrag.records import Record, Usage

BATCH = "batch"
"""``service`` of a reply that came by a batch and not by a call of its own."""
FILE = "file"
"""``service`` of a reply from a file: no price is known for it."""

FailureKind = Literal["refused", "truncated", "unavailable"]
FAILED: dict[FailureKind, type[ModelError]] = {
    "refused": ReplyRefused,
    "truncated": ReplyTruncated,
    "unavailable": ModelUnavailable,
}

_CALL = "call/"
_BATCH = "batch/"


class Target(Record):
    """Where a call goes; ``api_key_env`` is the name of a variable, as in params.yaml.

    ``paid``: whether it costs money, where params.yaml states it.
    """

    provider: str
    endpoint: str
    model: str
    base_url: str | None = None
    api: Literal["auto", "chat", "responses"] = "auto"
    structured: Literal["tool", "output_format"] = "tool"
    api_key_env: str | None = None
    paid: bool | None = None

    @property
    def full_name(self) -> tuple[str, str, str]:
        """See ModelSettings.full_name."""
        return self.provider, self.endpoint, self.model


class BatchReply(Record):
    """What came back for one request: a text, or a failure that asking again does not mend.

    ``usage`` of a failure counts a call where it was billed. ``billed``: the ledger has it since
    the import; else it is billed when a stage takes it.
    """

    text: str = ""
    usage: Usage = Usage()
    model_version: str = ""
    service: str = BATCH
    first_tokens: FirstTokens = ()
    context: str = ""
    failure: str | None = None
    failure_kind: FailureKind = "refused"
    billed: bool = False


class PendingCall(Record):
    """One request. ``stage`` collected it; ``batch`` names the batch that it went with."""

    id: str
    stage: str
    task: str
    target: Target
    request: dict[str, JsonValue]
    batch: str | None = None
    reply: BatchReply | None = None

    @property
    def waiting(self) -> bool:
        """Neither sent nor answered."""
        return self.batch is None and self.reply is None


class Batch(Record):
    """One submitted batch. ``provider_id`` None: its submission was interrupted."""

    name: str
    target: Target
    provider_id: str | None = None
    size: int = 0
    status: str = "submitting"
    ended: bool = False


class PendingStore:
    """The rows. Raises EnvironmentFault and CacheError as the call cache's store does."""

    def __init__(self, cache: CachePlace) -> None:
        self._place = pending_place(cache)
        self._store = open_store(self._place)

    @staticmethod
    def exists(cache: CachePlace) -> bool:
        """Tell whether anything was ever deferred; opening a store creates it."""
        return holds_rows(pending_place(cache))

    def calls(self) -> Iterator[PendingCall]:
        """Read every call, sorted by id."""
        for row in scan_store(self._place, _CALL):
            yield self._call(row.row.removeprefix(_CALL), row.text)

    def call(self, id: str) -> PendingCall | None:
        """Read the call with this id. Raises CacheError where its row was altered."""
        text = self._store.get(_CALL + id)
        return None if text is None else self._call(id, text)

    def put(self, *calls: PendingCall) -> None:
        """Write calls in one transaction."""
        self._store.put({_CALL + call.id: canonical_json(call.model_dump()) for call in calls})

    def remove(self, *ids: str) -> None:
        """Forget calls, in one transaction."""
        self._store.put({_CALL + id: None for id in ids})

    def batches(self) -> list[Batch]:
        """Read every submitted batch, by name."""
        return [self._read(row.row, row.text, Batch) for row in scan_store(self._place, _BATCH)]

    def add_batch(self, batch: Batch) -> bool:
        """Write a batch that is not there yet; False where it is: another process sends it."""
        return self._store.add({_BATCH + batch.name: canonical_json(batch.model_dump())}) == 1

    def put_batch(self, batch: Batch) -> None:
        """Write a batch."""
        self._store.put({_BATCH + batch.name: canonical_json(batch.model_dump())})

    def remove_batch(self, name: str) -> None:
        """Forget a batch."""
        self._store.put({_BATCH + name: None})

    def close(self) -> None:
        """Close this thread's connection."""
        self._store.close()

    def _call(self, id: str, text: str) -> PendingCall:
        call = self._read(_CALL + id, text, PendingCall)
        if call.id != id or call_key("model", call.request) != id:
            raise corrupt(self._store.place, _CALL + id, "its key does not belong to its request")
        return call

    def _read(self, name: str, text: str, kind: type[RowT]) -> RowT:
        try:
            return kind.model_validate(parse_json(text))
        except (ValueError, ValidationError) as error:
            what = str(error).partition("\n")[0]
            raise corrupt(self._store.place, name, what) from error


def copy_pending(source: CachePlace, target: CachePlace) -> int:
    """Copy the calls and batches that wait beside a cache to another; the number of calls.

    A call that is further there (sent, answered) stays as it is. May be repeated.
    """
    if not PendingStore.exists(source):
        return 0
    copied = 0
    with (
        closing(PendingStore(source)) as here,
        closing(PendingStore(target)) as there,
    ):
        known = {batch.name for batch in there.batches()}
        for batch in here.batches():
            if batch.name not in known:
                there.put_batch(batch)
        for call in here.calls():
            existing = there.call(call.id)
            if existing is None or (existing.waiting and not call.waiting):
                there.put(call)
                copied += 1
    return copied


RowT = TypeVar("RowT", PendingCall, Batch)


class PendingCalls:
    """One stage's view: a reply that an import brought, else the call is put on the list.

    ``collect`` False (mode normal): nothing is put there, what was answered is used all the same,
    since it is paid for, and what a batch is out for is waited for.
    """

    def __init__(self, cache: CachePlace, *, stage: str, collect: bool) -> None:
        self._store = PendingStore(cache)
        self._stage = stage
        self._collect = collect
        self._asked: set[str] = set()
        self.waiting = 0

    def reply(
        self, task: str, target: Target, request: Mapping[str, JsonValue]
    ) -> tuple[ProviderReply, bool] | None:
        """Return the reply to exactly this request, and whether it is billed; None: make it now.

        Raises CallsPending where it is on the list now (or was), and ModelError where what came
        back is a failure; that row is forgotten, so that the next run asks again.
        """
        plain = plain_request(request)
        id = call_key("model", plain)
        listed = self._store.call(id)
        if listed is not None and listed.reply is not None:
            return self._taken(listed, listed.reply)
        if not self._collect and (listed is None or listed.waiting):
            self._store.remove(id)  # it is made now: no batch is to make it once more
            return None
        if listed is not None and not self._collect:
            self.waiting += 1
            raise CallsPending(
                f"'{task}' was sent with the batch {listed.batch}, and would be paid twice: "
                f"`simulrag batch import`, or `simulrag batch drop {listed.batch}` to give it up"
            )
        if id not in self._asked:
            self._asked.add(id)
            self.waiting += 1
            if listed is None or listed.waiting:
                self._store.put(
                    PendingCall(id=id, stage=self._stage, task=task, target=target, request=plain)
                )
        raise CallsPending(f"'{task}' waits for a batch (key {id})")

    def forget(self, *ids: str) -> None:
        """Take calls off the list whose replies are in the cache by now, or led to a failure."""
        self._store.remove(*ids)

    def sweep(self) -> None:
        """Drop what this stage once collected and no longer asks for (a prompt has changed).

        Sent and answered calls stay: they are paid for, and may be asked for again.
        """
        if not self._collect:
            return
        stale = [
            call.id
            for call in self._store.calls()
            if call.stage == self._stage and call.waiting and call.id not in self._asked
        ]
        if stale:
            self._store.remove(*stale)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _taken(self, call: PendingCall, reply: BatchReply) -> tuple[ProviderReply, bool]:
        if reply.failure is not None:
            self._store.remove(call.id)
            owed = reply.usage if reply.usage.calls and not reply.billed else None
            raise FAILED[reply.failure_kind](f"'{call.task}': {reply.failure}", usage=owed)
        usage = reply.usage.model_copy(update={"calls": 1})
        known = (reply.model_version, reply.service, reply.first_tokens)
        return ProviderReply(reply.text, usage, *known, context=reply.context), reply.billed


class Batched:
    """The reply that a batch brought, else the provider's; CallsPending where the call waits.

    A reply that the import did not bill is billed when its call is over, and taken off the list
    when that is stored. So a call
    that ends before its reply could be mended leaves it there, to be used by the next.
    """

    def __init__(self, pending: PendingCalls, live: LiveReplies) -> None:
        self._pending = pending
        self._live = live
        chosen = live.settings.model_dump(include=set(Target.model_fields))
        self._target = Target.model_validate(chosen)
        self._taken: dict[str, dict[str, tuple[Usage, str]]] = {}
        """By request and the key of what was sent: what a reply is charged, and its service."""

    async def reply(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """See Replies. Raises CallsPending, and ModelError where what came back is a failure."""
        if request.measure is not None:  # no batch measures
            return await self._live.reply(request, messages)
        sent = self._live.key(replace(request, messages=messages))
        try:
            found = self._pending.reply(request.task, self._target, sent)
        except ModelError as error:  # a failure, which is off the list from now on
            if error.usage is not None:
                text = None if isinstance(error, ReplyTruncated) else ""
                self._note(self._live.charge(request, messages, error.usage, text), BATCH)
            raise
        if found is None:
            return await self._live.reply(request, messages)
        reply, billed = found
        taken = self._taken.setdefault(self._id(request), {})
        # It is there already where an earlier call failed after it.
        free = reply.service == FILE
        owed = Usage()
        if not billed:
            owed = self._live.charge(request, messages, reply.usage, reply.text, guess=not free)
        taken.setdefault(call_key("model", sent), (owed, reply.service))
        return reply

    def bill(self, request: Request) -> None:
        """Bill the replies that the request had from batches, and that no import billed."""
        for owed, service in self._taken.get(self._id(request), {}).values():
            if owed != Usage():
                self._note(owed, service)

    def forget(self, request: Request) -> None:
        """Take the replies that the request had from batches off the list."""
        taken = self._taken.pop(self._id(request), None) if self._taken else None
        if taken:
            self._pending.forget(*taken)

    def _note(self, usage: Usage, service: str) -> None:
        if self._live.budget is not None:
            self._live.budget.note(usage, service)

    def _id(self, request: Request) -> str:
        return call_key("model", self._live.key(request))
