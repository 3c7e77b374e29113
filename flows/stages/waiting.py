"""Mode deferred in a stage: what waits for a batch, and how a run finds that nothing else is left.

DVC turns every exit code of a stage into its own, so stages also note theirs in a file that
``simulrag run`` names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from simulrag.calls import CachePlace, Mode
from simulrag.errors import CallsPending, InputError
from simulrag.models.batch.rounds import counts
from simulrag.models.pending import PendingCalls, PendingStore
from simulrag.models.providers.base import BatchProvider, Provider

OUTCOMES = "SIMULRAG_OUTCOMES"
"""Environment variable: the file that the stages of one run note their exit codes in."""

_BEGAN = "began"

Result = TypeVar("Result")


def open_pending(
    cache: CachePlace, stage: str, mode: Mode, provider: Provider
) -> PendingCalls | None:
    """The calls of a stage that wait, or None where batches have no part in it.

    Raises InputError for mode deferred and a provider that is paid and takes no batches.
    """
    if mode == "deferred" and not provider.local:
        if not isinstance(provider, BatchProvider):
            raise InputError(
                f"mode deferred: provider '{provider.name}' takes no batches (openai and anthropic "
                "do); set operations.mode to normal"
            )
        return PendingCalls(cache, stage=stage, collect=True)
    # Replies that an import brought are paid for: mode normal uses them as well.
    if mode == "normal" and isinstance(provider, BatchProvider) and PendingStore.exists(cache):
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
            self._items += 1
            return None

    def check(self, *items: object) -> None:
        """Raise CallsPending where an item waits, seen by ``unless`` or truthy in ``items``."""
        count = self._items + sum(map(bool, items))
        if count:
            calls = self._pending.waiting if self._pending is not None else 0
            raise CallsPending(
                f"{self._stage}: {calls} calls pending for {count} items that wait; {HOW_ON}"
            )


HOW_ON = (
    "`simulrag batch submit` sends them (or `simulrag batch export` writes them to files), "
    "`simulrag batch import` brings the replies, and the same command goes on"
)


def pending_words(cache: CachePlace) -> str:
    """One line on everything that waits beside a call cache."""
    store = PendingStore(cache)
    try:
        found = counts(store.calls())
    finally:
        store.close()
    calls = found["waiting"] + found["sent"]
    return f"{calls} calls pending ({found['sent']} of them sent); {HOW_ON}"


class Outcomes:
    """The exit codes that the stages of a run noted."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def only_pending(self) -> bool:
        """Some stage waits, and every stage that began either waits or came through."""
        lines = self._file.read_text(encoding="utf-8").split()
        codes = [line for line in lines if line != _BEGAN]
        pending = str(CallsPending.exit_code)
        return (
            pending in codes and set(codes) <= {"0", pending} and lines.count(_BEGAN) == len(codes)
        )


@contextmanager
def gathered_outcomes() -> Iterator[Outcomes]:
    """Have the stages that are started meanwhile note their exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes"
        file.touch()
        before = os.environ.get(OUTCOMES)
        os.environ[OUTCOMES] = str(file)
        try:
            yield Outcomes(file)
        finally:
            if before is None:
                del os.environ[OUTCOMES]
            else:
                os.environ[OUTCOMES] = before


@contextmanager
def noted() -> Iterator[Callable[[int], None]]:
    """Note that a stage began; the function notes its exit code. A killed stage notes none."""

    def note(line: object) -> None:
        place = os.environ.get(OUTCOMES)
        if place is not None:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    note(_BEGAN)
    yield note
