"""A provider with the replies of batches around it: a call is answered, waits, or goes on."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from simulrag.calls.keys import call_key
from simulrag.errors import ModelError
from simulrag.models.base import Message, ProviderReply, Request
from simulrag.models.live import LiveReplies
from simulrag.models.pending import BATCH, PendingCalls, Target
from simulrag.records import Usage


class Batched:
    """The reply that a batch brought, else the provider's; CallsPending where the call waits.

    A reply is billed when its call is over, and taken off the list when that is stored. So a call
    that ends before its reply could be mended leaves it there, to be used by the next.
    """

    def __init__(self, pending: PendingCalls, live: LiveReplies) -> None:
        self._pending = pending
        self._live = live
        chosen = live.settings.model_dump(include=set(Target.model_fields))
        self._target = Target.model_validate(chosen)
        self._taken: dict[str, list[tuple[dict[str, JsonValue], ProviderReply]]] = {}

    async def reply(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """See Replies. Raises CallsPending, and ModelError where what came back is a failure."""
        if request.measure is not None:  # no batch measures
            return await self._live.reply(request, messages)
        sent = self._live.key(replace(request, messages=messages))
        try:
            reply = self._pending.reply(request.task, self._target, sent)
        except ModelError as error:  # a failure, which is off the list from now on
            if error.usage is not None:
                self._note(error.usage, BATCH)
            raise
        if reply is None:
            return await self._live.reply(request, messages)
        taken = self._taken.setdefault(self._id(request), [])
        if all(sent != other for other, _ in taken):  # else an earlier call failed after it
            taken.append((sent, reply))
        return reply

    def bill(self, request: Request) -> None:
        """Bill the replies that the request had from batches."""
        for _, reply in self._taken.get(self._id(request), ()):
            self._note(reply.usage, reply.service)

    def forget(self, request: Request) -> None:
        """Take the replies that the request had from batches off the list."""
        taken = self._taken.pop(self._id(request), None) if self._taken else None
        if taken:
            self._pending.forget([sent for sent, _ in taken])

    def _note(self, usage: Usage, service: str) -> None:
        if self._live.budget is not None:
            self._live.budget.note(usage, service)

    def _id(self, request: Request) -> str:
        return call_key("model", self._live.key(request))
