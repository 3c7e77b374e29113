"""The one way to a model: the call's key, validation, one repair, counting."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue

from simulrag.calls import CallCache, CallResult
from simulrag.errors import (
    CacheError,
    InputError,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    NotStored,
    ReplyInvalid,
)
from simulrag.models.base import Completion, Message, ProviderReply, Request
from simulrag.models.counting import longest_prompt
from simulrag.models.logprobs import read_response, response_of
from simulrag.models.misses import WAYS_ON, explain_miss
from simulrag.models.outage import Outage
from simulrag.models.parsing import InvalidReply, reply_schema, valid_reply
from simulrag.models.pending import BATCH, PendingCalls, Target
from simulrag.models.prompts import Prompts
from simulrag.models.providers.base import Provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.task import Task

if TYPE_CHECKING:
    from simulrag.models.budget import Bill, Budget

REPAIR_PROMPT = "repair"
_ATTEMPTS = 2


class Counts(NamedTuple):
    """What a gateway counts; see there."""

    usage: dict[str, Usage]
    paid: dict[str, Usage]
    failures: dict[str, int]
    seconds: dict[str, float]


class Gateway:
    """Every model call goes through here, and through the call cache.

    At most ``concurrency`` calls are under way at a time; calls that are stored wait for nobody.
    An attempt takes at most ``timeout_s`` seconds, and a failed one is made again up to ``retries``
    times by the provider; ``failures`` counts such attempts by kind. ``usage`` sums what the
    completions took by task, whether paid now or before; ``paid`` sums what this process really
    asked the provider for, replies that could not be used included. ``seconds`` sums by task how
    long those completions took when this machine made them, the wait for a free slot and repeated
    attempts included; calls that came from an export count none. ``budget`` None: calls cost
    nothing. ``pending``: replies that came by a batch, and in mode deferred the list that calls go
    to. With ``settings.replay`` no call is made at all. One gateway belongs to one event loop.

    Raises InputError for settings that override a task that has no prompt.
    """

    def __init__(
        self,
        provider: Provider,
        settings: ModelSettings,
        cache: CallCache,
        prompts: Prompts,
        *,
        concurrency: int = 8,
        timeout_s: float = 120.0,
        retries: int = 5,
        budget: Budget | None = None,
        pending: PendingCalls | None = None,
    ) -> None:
        prompts.require(settings.tasks)
        if budget is not None and provider.identity is not None:
            raise InputError(
                f"provider '{provider.name}' costs money and has an identity: its calls would be "
                "stored under that and not under the model's name, which has the price; a provider "
                "may have one of the two"
            )
        self.settings = settings
        self.usage: dict[str, Usage] = {}
        self.paid: dict[str, Usage] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._failures: Counter[str] = Counter()
        self._provider = provider
        provider.timeout_s, provider.retries = timeout_s, retries
        self._cache = cache
        self._prompts = prompts
        self._places = asyncio.Semaphore(min(concurrency, provider.concurrency or concurrency))
        self._outage = Outage()
        self._explained: set[str] = set()
        self._budget = budget
        self._pending = pending

    @property
    def failures(self) -> dict[str, int]:
        """Attempts that were unavailable, throttled or late, by kind."""
        return dict(sorted((self._failures + self._provider.failures).items()))

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """Render the task's prompt with ``values`` and complete it. See ``complete``."""
        request = Request(
            task=task.name,
            messages=self.rendered(task.name, **values),
            schema=task.reply,
            sampling=self.settings.sampling_of(task.name),
            sample_index=sample_index,
            check=check,
        )
        return await self.complete(request)

    def rendered(self, task: str, **values: object) -> tuple[Message, ...]:
        """The task's prompt with ``values``."""
        return self._prompts.render(task, **values)

    async def complete(self, request: Request) -> Completion:
        """A validated reply, from the cache or from the provider.

        An invalid reply goes back to the model once with what is wrong. Only a valid reply is
        stored, under the key of the first request, with the usage of both attempts.

        Raises ModelError (ReplyInvalid after two invalid replies, else the provider's),
        ProviderDown where nobody is answered any more, CallsPending where the call waits for a
        batch, NotStored where calls are only replayed, and CacheError where a stored reply no
        longer validates: the schema is part of the key, so the row was altered or ``check`` has
        become stricter; mode ``refresh`` calls again.
        """
        key = self.key(request)
        from_batch: list[dict[str, JsonValue]] = []

        async def call() -> CallResult:
            return await self._call(request, from_batch)

        try:
            made = None if self.settings.replay else call
            answer = await self._cache.get_or_call("model", key, made, task=request.task)
        except NotStored:
            raise self.missed(request.task, key) from None
        self._forget(from_batch)
        stored = answer.call
        try:
            said, first_tokens = read_response(request, stored.response)
            text, parsed = valid_reply(request, said)
        except InvalidReply as error:
            raise CacheError(
                f"the stored reply to '{request.task}' with key {stored.key} does not validate "
                f"({error}); run in mode 'refresh' to call again"
            ) from None
        usage = Usage.model_validate(stored.usage)
        _count(self.usage, request.task, usage)
        self.seconds[request.task] += stored.latency_s
        return Completion(
            text=text,
            parsed=parsed,
            usage=usage,
            model_version=stored.model_version or "",
            cached=answer.hit,
            first_tokens=first_tokens,
        )

    def key(self, request: Request) -> dict[str, JsonValue]:
        """Everything that can change the reply: what the call's key is the hash of.

        A provider's ``identity`` stands for the model where its name may mean anything, as a path
        does. Sampling fields that are None and the interface's defaults are left out, so that a
        field added later keeps old keys.
        """
        return {
            "provider": self.settings.provider,
            "endpoint": self.settings.endpoint,
            "model": self._provider.identity or self.settings.model,
            "messages": [
                {"role": message.role, "content": message.content} for message in request.messages
            ],
            **self.settings.chosen_wire(),
            "sampling": request.sampling.model_dump(mode="json", exclude_none=True),
            "schema": None if request.schema is None else reply_schema(request.schema),
            "sample_index": request.sample_index,
            **({} if request.measure is None else {"measure": request.measure}),
        }

    @property
    def counts(self) -> Counts:
        """What was counted so far."""
        return Counts(self.usage, self.paid, self.failures, dict(self.seconds))

    def adopt(self, counts: Counts) -> None:
        """Add what the gateway of another process counted."""
        for mine, other in ((self.usage, counts.usage), (self.paid, counts.paid)):
            for task, used in other.items():
                _count(mine, task, used)
        for task, took in counts.seconds.items():
            self.seconds[task] += took
        self._failures.update(counts.failures)

    async def close(self) -> None:
        """Free the provider's connections. The cache is its owner's to close."""
        await self._provider.close()

    async def _call(self, request: Request, from_batch: list[dict[str, JsonValue]]) -> CallResult:
        """At most two replies, the second to what is wrong with the first.

        Replies of a batch are noted when the call is over: a call that ends before its reply could
        be mended leaves them on the list of pending calls, to be used by the next.
        """
        messages = request.messages
        replies: list[ProviderReply] = []
        problems: list[str] = []
        for _ in range(_ATTEMPTS):
            reply = self._arrived(request, messages, from_batch)
            replies.append(reply or await self._asked(request, messages))
            try:
                text, _parsed = valid_reply(request, replies[-1].text)
            except InvalidReply as error:
                problems.append(str(error))
                messages = self._repair(request.messages, replies[-1].text, problems[-1])
                continue
            self._note_arrived(replies)
            services = {reply.service for reply in replies}
            return CallResult(
                response=response_of(request, text, replies[-1].first_tokens),
                usage=sum((reply.usage for reply in replies), Usage()).model_dump(),
                model_version=replies[-1].model_version,
                service=services.pop() if len(services) == 1 else "",
            )
        self._note_arrived(replies)
        self._forget(from_batch)
        raise ReplyInvalid(
            f"'{request.task}' got two replies that cannot be used from {self._named()}: first "
            f"{problems[0]}; then {problems[1]}"
        )

    def _arrived(
        self,
        request: Request,
        messages: tuple[Message, ...],
        from_batch: list[dict[str, JsonValue]],
    ) -> ProviderReply | None:
        """The reply that a batch brought, noted in ``from_batch``; None: ask the provider."""
        if self._pending is None or request.measure is not None:  # no batch measures
            return None
        sent = self.key(replace(request, messages=messages))
        chosen = self.settings.model_dump(include=set(Target.model_fields))
        try:
            reply = self._pending.reply(request.task, Target.model_validate(chosen), sent)
        except ModelError as error:  # a failure, which is off the list from now on
            if self._budget is not None and error.usage is not None:
                self._budget.note(error.usage, BATCH)
            raise
        if reply is not None:
            from_batch.append(sent)
        return reply

    def _note_arrived(self, replies: list[ProviderReply]) -> None:
        """Others than a batch's were billed when they were made."""
        if self._budget is not None:
            for reply in replies:
                if reply.service:
                    self._budget.note(reply.usage, reply.service)

    def _forget(self, from_batch: list[dict[str, JsonValue]]) -> None:
        if self._pending is not None and from_batch:
            self._pending.forget(from_batch)

    async def _asked(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """The provider's reply, waited for in turn. Raises ModelError and ProviderDown."""
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

    async def _billed(self, request: Request, messages: tuple[Message, ...]) -> ProviderReply:
        """The provider's reply, within the budget; what a failure was billed is counted too."""
        schema = None if request.schema is None else reply_schema(request.schema)
        async with AsyncExitStack() as stack:
            bill: Bill | None = None
            if self._budget is not None:
                longest = longest_prompt(messages, schema)
                room = self._budget.call(longest, request.sampling.max_output_tokens)
                bill = await stack.enter_async_context(room)

            def count(used: Usage, service: str = "") -> None:
                _count(self.paid, request.task, used)
                if bill is not None:
                    bill.add(used, service)

            try:
                async with asyncio.timeout(self._provider.deadline_s):
                    if request.measure is not None:
                        reply = await self._provider.measure(request.measure, messages)
                    else:
                        reply = await self._provider.call(
                            messages, schema, request.sampling, request.sample_index
                        )
            except TimeoutError:
                self._failures["timeout"] += 1
                raise ModelTimeout(
                    f"'{request.task}': no reply from {self._named()} within "
                    f"{self._provider.deadline_s:g} s; run again to go on from here"
                ) from None
            except ModelError as error:
                if error.usage is not None:
                    count(error.usage)
                raise error.retold(f"'{request.task}': {error}") from None
            used = reply.usage.model_copy(update={"calls": 1})
            count(used, reply.service)
            return replace(reply, usage=used)

    def _repair(
        self, messages: tuple[Message, ...], bad_reply: str, problem: str
    ) -> tuple[Message, ...]:
        # Providers refuse empty messages, so an empty reply is not quoted.
        quoted = (Message(role="assistant", content=bad_reply),) if bad_reply.strip() else ()
        asked = self._prompts.render(REPAIR_PROMPT, problem=problem)
        return (*messages, *quoted, *asked)

    def missed(self, task: str, key: dict[str, JsonValue]) -> NotStored:
        """The error for a call that is only replayed and not stored.

        The first of each task is explained, which reads the whole cache.
        """
        why = "Why is said at the first such call of the task."
        if task not in self._explained:
            self._explained.add(task)
            why = explain_miss(self._cache.place, key)
        return NotStored(
            f"the call '{task}' of {self._named()} is not stored and calls are only replayed. "
            f"{why} {WAYS_ON}"
        )

    def _named(self) -> str:
        return f"{self.settings.provider}:{self.settings.model}"


def _count(usage: dict[str, Usage], task: str, used: Usage) -> None:
    usage[task] = usage.get(task, Usage()) + used
