"""A provider's replies, asked for now: in turn, in time, within the budget, and counted."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue

from simulrag.errors import (
    InputError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    ProviderDown,
)
from simulrag.models.base import Message, ProviderReply, Request, add_usage
from simulrag.models.providers.base import Provider
from simulrag.models.replies import reply_schema
from simulrag.models.settings import ModelSettings
from simulrag.records import CHARACTERS_PER_TOKEN, Usage

if TYPE_CHECKING:
    from simulrag.models.budget import BilledUsage, Budget

DOWN_AFTER = 3
"""So many calls given up in a row, with no reply to any call in between, mean 'down'."""

FRAME_TOKENS = 1024
"""What providers add to a prompt by themselves, at most: instructions for the use of a tool."""

MESSAGE_TOKENS = 16


class Replies(Protocol):
    """Where the gateway has its replies from: the provider now, or something around it."""

    async def reply(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """Return the reply to ``messages``: the request's, or the repair of a reply to them."""
        ...

    def bill(self, request: Request) -> None:
        """Count the replies to a request that is over: the next thing is that it is stored."""

    def forget(self, request: Request) -> None:
        """Let go of the replies to a request: they are stored, or of no use."""


class LiveReplies:
    """One provider as the gateway asks it; see there for the parameters.

    ``paid``: what was asked for by task; ``failed``: failures that the provider did not count.

    Raises InputError for a provider that costs money and has an identity.
    """

    def __init__(
        self,
        provider: Provider,
        settings: ModelSettings,
        *,
        concurrency: int,
        timeout_s: float,
        retries: int,
        reply_mb: float,
        budget: Budget | None,
    ) -> None:
        if budget is not None and provider.identity is not None:
            raise InputError(
                f"provider '{provider.name}' costs money and has an identity: its calls would be "
                "stored under that and not under the model's name, which has the price; a provider "
                "may have one of the two"
            )
        provider.timeout_s, provider.retries, provider.reply_mb = timeout_s, retries, reply_mb
        self.settings = settings
        self.budget = budget
        self.paid: dict[str, Usage] = {}
        self.failed: Counter[str] = Counter()
        self._provider = provider
        self._places = asyncio.Semaphore(min(concurrency, provider.concurrency or concurrency))
        self._outage = Outage()

    @property
    def failures(self) -> Counter[str]:
        """Attempts that failed, by kind."""
        return self.failed + self._provider.failures

    @property
    def named(self) -> str:
        """The model as messages name it."""
        return f"{self.settings.provider}:{self.settings.model}"

    def key(self, request: Request) -> dict[str, JsonValue]:
        """Gather everything that can change the reply: what the call's key is the hash of.

        A provider's ``identity`` stands for the model where its name may mean anything, as a path
        does. Sampling fields that are None and the interface's defaults are left out, so that a
        field added later keeps old keys.
        """
        return {
            "provider": self.settings.provider,
            "endpoint": self.settings.endpoint,
            "model": self._provider.identity or self.settings.model,
            "messages": [message.model_dump() for message in request.messages],
            **self.settings.chosen_wire(),
            "sampling": request.sampling.model_dump(mode="json", exclude_none=True),
            "schema": None if request.schema is None else reply_schema(request.schema),
            "sample_index": request.sample_index,
            **({} if request.measure is None else {"measure": request.measure}),
        }

    async def reply(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """Return the provider's reply, waited for in turn. Raises ModelError and ProviderDown."""
        async with self._places:
            self._outage.check()
            before = self._outage.answered
            try:
                reply = await self._billed(request, messages)
            except (ModelUnavailable, ModelTimeout) as error:
                raise self._outage.give_up(error, before) from None
            except ModelError:
                self._outage.was_answered()
                raise
            self._outage.was_answered()
            return reply

    def bill(self, request: Request) -> None:
        """Do nothing: replies are billed when they are made."""

    def forget(self, request: Request) -> None:
        """Do nothing: no reply is kept."""

    async def close(self) -> None:
        """Free the provider's connections."""
        await self._provider.close()

    async def _billed(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """Ask the provider within the budget; what a failure was billed is counted too."""
        schema = None if request.schema is None else reply_schema(request.schema)
        async with AsyncExitStack() as stack:
            bill: BilledUsage | None = None
            if self.budget is not None:
                longest = longest_prompt(messages, schema)
                room = self.budget.call(longest, request.sampling.max_output_tokens)
                bill = await stack.enter_async_context(room)

            def count(used: Usage, service: str = "", text: str = "") -> None:
                add_usage(self.paid, request.task, used)
                if bill is not None and self.budget is not None:
                    if not used.counted:
                        used = estimated_usage(messages, schema, text)
                        self.budget.estimate(used)
                    bill.add(used, service)

            began_s = time.monotonic()
            try:
                async with asyncio.timeout(self._provider.deadline_s):
                    if request.measure is not None:
                        reply = await self._provider.measure(request.measure, messages)
                    else:
                        reply = await self._provider.call(
                            messages, schema, request.sampling, request.sample_index
                        )
            except TimeoutError:
                self.failed["timeout"] += 1
                raise ModelTimeout(
                    f"'{request.task}': no reply from {self.named} within "
                    f"{self._provider.deadline_s:g} s; run again to go on from here"
                ) from None
            except ModelError as error:
                if error.usage is not None:
                    count(error.usage)
                raise error.retold(f"'{request.task}': {error}") from None
            used = reply.usage.model_copy(update={"calls": 1})
            count(used, reply.service, reply.text)
            return replace(reply, usage=used, seconds=time.monotonic() - began_s)


def estimated_usage(
    messages: Sequence[Message], schema: dict[str, JsonValue] | None, reply: str
) -> Usage:
    """Estimate what a call took by its length, where the server does not say.

    Four letters of English are about a token; of other scripts one may be one.
    """

    def tokens(text: str) -> int:
        english = sum(map(str.isascii, text))
        return len(text) - english + -(-english // CHARACTERS_PER_TOKEN)

    described = "" if schema is None else json.dumps(schema, ensure_ascii=False)
    sent = "".join(message.content for message in messages) + described
    return Usage(calls=1, input_tokens=tokens(sent), output_tokens=tokens(reply))


def longest_prompt(messages: Sequence[Message], schema: dict[str, JsonValue] | None) -> int:
    """Bound a prompt's tokens for any tokenizer that knows no more than its bytes.

    Byte-level tokenizers make one token of each byte at worst; English text has about four.
    """
    size = sum(len(message.content.encode()) + MESSAGE_TOKENS for message in messages)
    described = 0 if schema is None else len(json.dumps(schema, ensure_ascii=False).encode())
    return size + described + FRAME_TOKENS


class Outage:
    """Tells one unlucky call from a provider that is down, and then ends the run.

    The run, and not question by question: each would wait for its own time-outs first.
    """

    def __init__(self) -> None:
        self.answered = 0
        self._given_up = 0
        self._down = ""

    def check(self) -> None:
        """Raise ProviderDown once the provider is known to be down."""
        if self._down:
            raise ProviderDown(self._down)

    def was_answered(self) -> None:
        """Note that a call was answered, be it by a refusal."""
        self.answered += 1
        self._given_up = 0

    def give_up(self, error: ModelError, answered_before: int) -> Exception:
        """Return what a call ends with that was never answered.

        ``answered_before``: ``answered`` as it was when the call began. Where others came through
        meanwhile it is this call and not the provider, so its own question fails.
        """
        if self.answered != answered_before:
            return error
        self._given_up += 1
        if isinstance(error, ModelUnreachable) or self._given_up >= DOWN_AFTER:
            self._down = self._down or (
                f"the model's provider is down, the run stops here: {error}. Everything paid for "
                "is kept; run the same command again when it is back"
            )
        return ProviderDown(self._down) if self._down else error
