"""Mode deferred in a stage: what waits for a batch."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from simulrag.calls import CachePlace, Mode
from simulrag.errors import CallsPending, InputError
from simulrag.models.pending import PendingCalls, PendingStore
from simulrag.models.providers.base import Provider
from simulrag.models.providers.sdk import SdkProvider

Result = TypeVar("Result")


def open_pending(
    cache: CachePlace, stage: str, mode: Mode, provider: Provider
) -> PendingCalls | None:
    """The calls of a stage that wait, or None where batches have no part in it.

    Raises InputError for mode deferred and a provider that is paid and takes no batches.
    """
    if mode == "deferred" and not provider.local:
        if not isinstance(provider, SdkProvider):
            raise InputError(
                f"mode deferred: provider '{provider.name}' takes no batches (openai and anthropic "
                "do); set operations.mode to normal"
            )
        return PendingCalls(cache, stage=stage, collect=True)
    # Replies that an import brought are paid for: mode normal uses them as well.
    if mode == "normal" and isinstance(provider, SdkProvider) and PendingStore.exists(cache):
        return PendingCalls(cache, stage=stage, collect=False)
    return None


class Waiting:
    """What a stage's items wait for; ``check`` ends the stage when all that can be done is done."""

    def __init__(self, stage: str, pending: PendingCalls | None) -> None:
        self._stage = stage
        self._pending = pending
        self._items = 0

    async def unless(self, work: Awaitable[Result]) -> Result | None:
        """The result, or None where its calls wait for a batch."""
        try:
            return await work
        except CallsPending:
            self.note()
            return None

    def note(self) -> None:
        """Count an item that waits."""
        self._items += 1

    def check(self) -> None:
        """Raise CallsPending where an item waits."""
        if self._items:
            calls = self._pending.waiting if self._pending is not None else 0
            raise CallsPending(
                f"{self._stage}: {calls} calls pending for {self._items} items that wait; {HOW_ON}"
            )


HOW_ON = (
    "`simulrag batch submit` sends them (or `simulrag batch export` writes them to files), "
    "`simulrag batch import` brings the replies, and the same command goes on"
)


def pending_words(cache: CachePlace) -> str:
    """One line on everything that waits beside a call cache."""
    from simulrag.models.batch.rounds import counts

    store = PendingStore(cache)
    try:
        found = counts(store.calls())
    finally:
        store.close()
    calls = found["waiting"] + found["sent"]
    return f"{calls} calls pending ({found['sent']} of them sent); {HOW_ON}"
