"""A provider's replies, asked for now: in turn, in time, within the budget, and counted."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import JsonValue

from simulrag.errors import (
    InputError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    ProviderDown,
    ReplyTruncated,
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

Result = TypeVar("Result")


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

    def charge(
        self,
        request: Request,
        messages: tuple[Message, ...],
        used: Usage,
        text: str | None,
        *,
        guess: bool = True,
    ) -> Usage:
        """Return what the budget is charged for the reply ``text``, see ``charged_usage``."""
        # A reply from a file that states no count costs nothing, so nothing needs a bound.
        if self.budget is None or not (guess or used.input_tokens or used.output_tokens):
            return used
        schema = None if request.schema is None else reply_schema(request.schema)
        longest = self.budget.longest_reply(request.sampling.max_output_tokens)
        charged = charged_usage(used, messages, schema, text, longest, guess=guess)
        self.budget.estimate(used, charged)
        return charged

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

            def count(used: Usage, text: str | None, service: str = "") -> None:
                add_usage(self.paid, request.task, used)
                if bill is not None:
                    bill.add(self.charge(request, messages, used, text), service)

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
                    count(error.usage, None if isinstance(error, ReplyTruncated) else "")
                raise error.retold(f"'{request.task}': {error}") from None
            used = reply.usage.model_copy(update={"calls": 1})
            written = "" if request.measure else reply.text  # what was measured was not written
            count(used, written, reply.service)
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


def charged_usage(
    used: Usage,
    messages: Sequence[Message],
    schema: dict[str, JsonValue] | None,
    text: str | None,
    longest_reply: int,
    *,
    guess: bool = True,
) -> Usage:
    """Compute what a budget charges for a call: the server's counts, each as far as it can be.

    A side without a count is estimated (unless ``guess`` is False: nobody was paid), a reply that
    was cut off (``text`` None) as the longest. A count above what the call can have is the most
    that it can have.
    """
    guessed = estimated_usage(messages, schema, text or "") if guess else Usage()
    written = longest_reply if guess and text is None else guessed.output_tokens
    sent = min(used.input_tokens or guessed.input_tokens, longest_prompt(messages, schema))
    cached = min(used.cached_input_tokens, sent)
    return Usage(
        calls=used.calls,
        input_tokens=sent,
        output_tokens=min(used.output_tokens or written, longest_reply),
        cached_input_tokens=cached,
        cache_write_tokens=min(used.cache_write_tokens, sent - cached),
    )


def longest_prompt(messages: Sequence[Message], schema: dict[str, JsonValue] | None) -> int:
    """Bound a prompt's tokens for any tokenizer that knows no more than its bytes.

    Byte-level tokenizers make one token of each byte at worst; English text has about four.
    """
    size = sum(len(one.content.encode(errors="replace")) + MESSAGE_TOKENS for one in messages)
    described = 0 if schema is None else len(json.dumps(schema, ensure_ascii=False).encode())
    return size + described + FRAME_TOKENS


def run_here(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end, also where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # run below: an error of the work is not told as one of this error's handling
    else:
        with ThreadPoolExecutor(1, thread_name_prefix="simulrag") as thread:
            return thread.submit(asyncio.run, work).result()
    return asyncio.run(work)


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
