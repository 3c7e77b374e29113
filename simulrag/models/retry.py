"""What to do when a provider fails: wait and ask again, then give the call up, then the run."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from simulrag.errors import ModelError, ProviderDown
from simulrag.models.limiter import Limiter

T = TypeVar("T")

RETRIED = frozenset({"unavailable", "timeout"})
DOWN_AFTER = 3
"""Calls given up one after another, with no reply to anybody between, that mean 'down'."""


class RetryPolicy(BaseModel):
    """How often and after how long a failed attempt is made again."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    retries: int = Field(default=5, ge=0, description="attempts after the first")
    backoff_s: float = Field(
        default=1.0, gt=0, description="longest wait before the first retry; doubles each time"
    )
    longest_wait_s: float = Field(
        default=60.0,
        gt=0,
        description="longest wait before any retry; a provider that asks for "
        "more is not waited for",
    )

    def wait_s(self, retry: int, asked_s: float | None, draw: Callable[[], float]) -> float:
        """Seconds before the retry of this index (0 is the first). ``draw`` gives [0, 1).

        Full jitter: uniform between 0 and the doubling bound, so that calls that failed together
        do not come back together. What the provider asked for is added, never shortened.
        """
        bound = min(self.longest_wait_s, self.backoff_s * 2.0 ** min(retry, 60))
        if asked_s is None:
            return draw() * bound
        return asked_s + draw() * min(bound, self.backoff_s)


class Retries:
    """Makes attempts until one is answered; one for each provider, with its limiter.

    A call that fails ``retries`` times more is given up: its ModelError fails one question. When
    nobody is answered any more the provider is down, and ProviderDown ends the run instead of
    failing question after question: after ``DOWN_AFTER`` calls given up in a row, or after one
    where no connection can be made at all. From then on every call raises it at once.

    A call keeps its place at the limiter while it waits for its next attempt. A provider that is
    down so meets a few calls that try again and not, at full speed, all the others.

    ``failures`` counts failed attempts by kind, throttled ones apart.
    """

    def __init__(self, policy: RetryPolicy, limiter: Limiter) -> None:
        self.failures: Counter[str] = Counter()
        self._policy = policy
        self._limiter = limiter
        self._answered = 0
        self._given_up = 0
        self._down: ProviderDown | None = None

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first attempt that is answered.

        Raises ModelError (as the last attempt did, or at once where the provider answered with an
        error that asking again does not mend), and ProviderDown.
        """
        async with self._limiter.place():
            return await self._try(attempt)

    async def _try(self, attempt: Callable[[], Awaitable[T]]) -> T:
        answered_before = self._answered
        for retry in range(self._policy.retries + 1):
            try:
                return await self._once(attempt)
            except ModelError as error:
                if error.kind not in RETRIED:
                    raise
                too_long = (error.retry_after_s or 0.0) > self._policy.longest_wait_s
                if retry == self._policy.retries or too_long:
                    raise self._give_up(error, retry + 1, answered_before) from None
                wait = self._policy.wait_s(retry, error.retry_after_s, random.random)
            await asyncio.sleep(wait)
        raise AssertionError("the loop returns or raises")

    async def _once(self, attempt: Callable[[], Awaitable[T]]) -> T:
        began_at = await self._limiter.begin()
        if self._down is not None:
            raise ProviderDown(str(self._down))
        try:
            result = await attempt()
        except ModelError as error:
            if error.kind not in RETRIED:
                self._was_answered()
                raise
            self.failures["throttled" if error.cause == "throttled" else error.kind] += 1
            if error.cause == "throttled":
                self._limiter.throttled(began_at, self._pause(error))
            raise
        self._was_answered()
        return result

    def _pause(self, error: ModelError) -> float | None:
        asked = error.retry_after_s
        return None if asked is None or asked > self._policy.longest_wait_s else asked

    def _was_answered(self) -> None:
        self._answered += 1
        self._given_up = 0
        self._limiter.succeeded()

    def _give_up(self, error: ModelError, attempts: int, answered_before: int) -> Exception:
        times = "once" if attempts == 1 else f"{attempts} times"
        given_up = error.retold(f"{error} (tried {times})")
        if self._answered != answered_before:
            return given_up  # others came through meanwhile: it is this call, not the provider
        self._given_up += 1
        if self._down is None and (error.cause == "unreachable" or self._given_up >= DOWN_AFTER):
            self._down = ProviderDown(
                f"the model's provider is down, the run stops here: {given_up}. Everything paid "
                "for is kept; run the same command again when it is back"
            )
        return given_up if self._down is None else ProviderDown(str(self._down))
