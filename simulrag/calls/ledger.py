"""What the paid calls of a cache took: a row of usage for each, ``spent/``, with its own commit.

It is written when a call ends, before its reply is stored and also where the reply cannot be used:
what was billed counts. What costs nothing, or came from an export, has none.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulrag.calls.keys import canonical_json
from simulrag.calls.stored import SPENT
from simulrag.errors import CacheError
from simulrag.records import Record, Usage

if TYPE_CHECKING:
    from simulrag.calls.store import Store

HOLD_S = 900.0
"""How long a process that died still holds its calls under way from the others, in Redis."""


class SpentUsage(Record):
    """Usage that was billed; ``request`` names the model. ``service``: see StoredCall."""

    request: dict[str, str]
    usage: Usage
    time: str
    service: str = ""
    replaces: str | None = None

    @property
    def name(self) -> tuple[str, str, str]:
        """Provider, endpoint, model."""
        return self.request["provider"], self.request["endpoint"], self.request["model"]


class Ledger:
    """The usage of a cache, read as it grows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = secrets.token_hex(16)
        self._position = 0
        self._seen: set[str] = set()

    def news(self) -> list[SpentUsage]:
        """What was noted since the last time, by any process; first everything.

        Raises CacheError where a row cannot be read.
        """
        spent = []
        for position, row, text in self._store.spent(self._position):
            self._position = position
            if row not in self._seen:  # else a note that was repeated when its answer got lost
                self._seen.add(row)
                try:
                    spent.append(SpentUsage.model_validate_json(text))
                except ValueError as error:
                    raise CacheError(
                        f"what was spent cannot be read from {self._store.place}: the row {row} is "
                        f"damaged: {str(error).partition(chr(10))[0]}. See `simulrag cache verify`"
                    ) from error
        return spent

    def note(self, name: tuple[str, str, str], usage: Usage, service: str = "") -> None:
        """Keep usage that was billed; ``service``: how it was bought."""
        spent = SpentUsage(
            request=dict(zip(("provider", "endpoint", "model"), name, strict=True)),
            usage=usage,
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            service=service,
        )
        self._store.put({SPENT + secrets.token_hex(16): canonical_json(spent.model_dump())})

    def hold(self, work: Callable[[float, int], tuple[float, int]]) -> bool:
        """Tell other processes what is under way here: USD and tokens, as ``work`` answers.

        ``work`` is given what all others hold. False: another was faster, try again.
        """

        def met(texts: list[str], now_s: float) -> str:
            alive = [h for h in map(json.loads, texts) if h["until_s"] > now_s]
            usd, tokens = work(sum(h["usd"] for h in alive), sum(h["tokens"] for h in alive))
            return canonical_json({"usd": usd, "tokens": tokens, "until_s": now_s + HOLD_S})

        return self._store.meet(self._owner, met)
