"""The one way to a model: prompts, the call cache, validation, one repair, counting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue, TypeAdapter, ValidationError

from simulrag.calls import CallCache, CallResult
from simulrag.calls.inspection import explain_miss
from simulrag.errors import (
    BudgetSpent,
    CacheError,
    ModelError,
    NotStored,
    ProviderDown,
    ReplyInvalid,
)
from simulrag.models.base import (
    Completion,
    FirstTokens,
    Message,
    ProviderReply,
    Request,
    add_usage,
    encodable,
)
from simulrag.models.live import LiveReplies, Replies
from simulrag.models.prompts import Prompts
from simulrag.models.providers.base import REPLY_MB, Provider
from simulrag.models.replies import Batch, InvalidReply, Reply, valid_reply, without_thought
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.task import Task

if TYPE_CHECKING:
    from simulrag.models.budget import Budget

REPAIR_PROMPT = "repair"
_ATTEMPTS = 2
_QUOTED = 20_000
"""Characters that a repair quotes of a reply at most: a reply of a megabyte is not sent back."""
_TOKENS = TypeAdapter(FirstTokens)
WAYS_ON = (
    "Ways on: `simulrag use openai:gpt-5-mini` (a model of your own) with operations.budget, a "
    "server of your own (`simulrag use http://HOST:PORT/v1#MODEL`), or batch files "
    "(operations.mode: deferred without replay, then `simulrag batch`)"
)


class GatewayCounts(NamedTuple):
    """What a gateway counts; see there."""

    usage: dict[str, Usage]
    paid: dict[str, Usage]
    failures: dict[str, int]
    seconds: dict[str, float]
    thoughts: int
    batches: Counter[bool]


class Gateway:
    """Every model call goes through here, and through the call cache.

    At most ``concurrency`` calls are under way at a time; stored calls do not wait.
    An attempt takes at most ``timeout_s`` seconds and ``reply_mb`` megabytes, and a failed one is
    made again up to ``retries`` times by the provider; ``failures`` counts such attempts by kind.
    ``usage`` sums what the completions took by task, whether paid now or before; ``paid`` sums what
    this process really asked the provider for, replies that could not be used included.
    ``seconds`` sums by task how long the provider took for those completions when this machine made
    them, repeated attempts included; calls that came from an export or a batch count none.
    ``thoughts`` counts the replies from which a thought aloud was cut; ``batches`` those to several
    claims by whether they were whole: what the others lacked is asked for alone.
    ``budget`` None: calls cost nothing. ``wrap`` puts around the provider what may answer its
    calls, or keep them. With ``settings.replay`` no call is made at all. One gateway belongs to one
    event loop.

    Raises InputError for settings that override a task that has no prompt, and what LiveReplies
    raises.
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
        reply_mb: float = REPLY_MB,
        budget: Budget | None = None,
        wrap: Callable[[LiveReplies], Replies] | None = None,
    ) -> None:
        prompts.require(settings.tasks)
        self.settings = settings
        self.usage: dict[str, Usage] = {}
        self.thoughts = 0
        self.batches: Counter[bool] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._cache = cache
        self._prompts = prompts
        self._live = LiveReplies(
            provider,
            settings,
            concurrency=concurrency,
            timeout_s=timeout_s,
            retries=retries,
            reply_mb=reply_mb,
            budget=budget,
        )
        self._replies = self._live if wrap is None else wrap(self._live)
        self._explained: set[str] = set()

    @property
    def failures(self) -> dict[str, int]:
        """Attempts that were unavailable, throttled or late, by kind."""
        return dict(sorted(self._live.failures.items()))

    @property
    def paid(self) -> dict[str, Usage]:
        """What this process asked the provider for, by task."""
        return self._live.paid

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """Render the task's prompt with ``values`` and complete it. See ``complete``."""
        return await self.complete(self.request(task, sample_index, check, values))

    def request(
        self,
        task: Task,
        sample_index: int,
        check: Callable[[Any], None] | None,
        values: Mapping[str, object],
    ) -> Request:
        """Make the request that ``ask`` completes."""
        return Request(
            task=task.name,
            messages=self.rendered(task.name, **values),
            schema=task.reply,
            sampling=self.settings.sampling_of(task.name),
            sample_index=sample_index,
            check=check,
        )

    def rendered(self, task: str, **values: object) -> tuple[Message, ...]:
        """Render the task's prompt with ``values``."""
        return self._prompts.render(task, **values)

    async def complete(self, request: Request) -> Completion:
        """Return a validated reply, from the cache or from the provider.

        An invalid reply goes back to the model once with what is wrong. Only a valid reply is
        stored, under the key of the first request, with the usage of both attempts. Of two invalid
        ones that is stored, and parsed, which ``check`` keeps (``InvalidReply.kept``): who asks
        finds in it what is there. A batch loses no paid item so, and a replay goes the same way.

        Raises ModelError (ReplyInvalid after two invalid replies, else the provider's),
        ProviderDown once the provider has failed for all, NotStored where calls are only replayed,
        what ``wrap`` adds (CallsPending for a call that waits), and CacheError where a stored reply
        no longer validates: the schema is part of the key, so the row was altered or ``check`` has
        become stricter; mode ``refresh`` calls again.
        """
        key = self.key(request)
        call = None if self.settings.replay else partial(self._call, request)
        try:
            answer = await self._cache.get_or_call("model", key, call, task=request.task)
        except NotStored:
            raise self.missed(request.task, key) from None
        self._replies.forget(request)
        stored = answer.call
        try:
            reply, first_tokens = read_response(request, stored.response)
            text, parsed, whole = _in_part(request, reply)
        except InvalidReply as error:
            raise CacheError(
                f"the stored reply to '{request.task}' with key {stored.key} does not validate "
                f"({error}); run in mode 'refresh' to call again"
            ) from None
        if isinstance(parsed, Batch):
            self.batches[whole] += 1
        usage = Usage.model_validate(stored.usage)
        add_usage(self.usage, request.task, usage)
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
        """Return what the call's key is the hash of, see ``LiveReplies.key``."""
        return self._live.key(request)

    @property
    def counts(self) -> GatewayCounts:
        """What was counted so far."""
        seconds = dict(self.seconds)
        return GatewayCounts(
            self.usage, self.paid, self.failures, seconds, self.thoughts, self.batches
        )

    def adopt(self, counts: GatewayCounts) -> None:
        """Add what the gateway of another process counted."""
        for mine, other in ((self.usage, counts.usage), (self.paid, counts.paid)):
            for task, used in other.items():
                add_usage(mine, task, used)
        for task, took in counts.seconds.items():
            self.seconds[task] += took
        self._live.failed.update(counts.failures)
        self.thoughts += counts.thoughts
        self.batches.update(counts.batches)

    async def close(self) -> None:
        """Free the provider's connections. The cache is its owner's to close."""
        await self._live.close()

    async def _call(self, request: Request) -> CallResult:
        """Ask for at most two replies, the second to what is wrong with the first."""
        messages = request.messages
        replies: list[ProviderReply] = []
        problems: list[str] = []
        kept: list[Reply] = []
        text = ""
        for _ in range(_ATTEMPTS):
            try:
                reply = await self._replies.reply(request, messages)
            except (ModelError, ProviderDown, BudgetSpent):
                if not kept:
                    raise
                break  # what can be kept is paid for
            replies.append(reply)
            try:
                text, _parsed = valid_reply(request, reply.text)
                self.thoughts += without_thought(reply.text) != reply.text
            except InvalidReply as error:
                problems.append(encodable(str(error)))
                kept += [] if error.kept is None else [error.kept]
                bad_reply = self._prompts.as_data(reply.text[:_QUOTED])
                messages = self._repair(request.messages, bad_reply, problems[-1])
            else:
                break
        self._replies.bill(request)
        if len(problems) == len(replies):
            if not kept:
                self._replies.forget(request)
                raise ReplyInvalid(
                    f"'{request.task}' got two replies that cannot be used from "
                    f"{self._live.named}: first {problems[0]}; then {problems[-1]}"
                )
            fullest = max(reversed(kept), key=lambda r: len(r.items) if isinstance(r, Batch) else 0)
            text = fullest.model_dump_json()
        services = {reply.service for reply in replies}
        return CallResult(
            response=response_of(request, text, reply.first_tokens),
            usage=sum((reply.usage for reply in replies), Usage()).model_dump(),
            model_version=reply.model_version,
            context=reply.context,
            service=services.pop() if len(services) == 1 else "",
            latency_s=sum(reply.seconds for reply in replies),
        )

    def _repair(
        self, messages: tuple[Message, ...], bad_reply: str, problem: str
    ) -> tuple[Message, ...]:
        # Providers refuse empty messages, so an empty reply is not quoted.
        quoted = (Message(role="assistant", content=bad_reply),) if bad_reply.strip() else ()
        asked = self._prompts.render(REPAIR_PROMPT, problem=problem)
        return (*messages, *quoted, *asked)

    def missed(self, task: str, key: dict[str, JsonValue]) -> NotStored:
        """Make the error for a call that is only replayed and not stored.

        The first of each task is explained, which reads the whole cache.
        """
        why = "Why is said at the first such call of the task."
        if task not in self._explained:
            self._explained.add(task)
            why = explain_miss(self._cache.place, key)
        return NotStored(
            f"the call '{task}' of {self._live.named} is not stored and calls are only replayed. "
            f"{why} {WAYS_ON}"
        )


def _in_part(request: Request, reply: JsonValue) -> tuple[str, Any, bool]:
    """Return a stored reply, parsed, and whether it is whole; else it is to be what was kept."""
    try:
        return *valid_reply(request, reply), True
    except InvalidReply as error:
        if error.kept is None or error.kept.model_dump_json() != reply:
            raise
        return str(reply), error.kept, False


def response_of(request: Request, text: str, tokens: FirstTokens) -> JsonValue:
    """Return what is stored of a reply: its text, or an object of text and first tokens.

    The latter where the call asks for log-probabilities (``Sampling.top_logprobs``): that number is
    in its key. All other calls are keyed and stored without.
    """
    if request.sampling.top_logprobs is None:
        return text
    return {"text": text, "first_tokens": [[token, value] for token, value in tokens]}


def read_response(request: Request, stored: JsonValue) -> tuple[JsonValue, FirstTokens]:
    """Return the reply in what is stored, and its first tokens. Raises InvalidReply."""
    if request.sampling.top_logprobs is None:
        return stored, ()
    try:
        if not isinstance(stored, dict):
            raise ValueError("no object of text and first tokens")
        return stored["text"], _TOKENS.validate_python(stored["first_tokens"])
    except (KeyError, ValueError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InvalidReply(f"stored without its log-probabilities: {problem}") from None
