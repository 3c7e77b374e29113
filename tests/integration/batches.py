"""A stage, a server and batches between them, and a server that answers otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import CallCache
from simulrag.calls.inspection import read_calls
from simulrag.method.verification import VERBALIZED
from simulrag.models.batch.lines import Part, provider_of
from simulrag.models.batch.rounds import counts
from simulrag.models.budget import open_budget
from simulrag.models.gateway import Gateway
from simulrag.models.pending import Batched, PendingCalls, PendingStore
from simulrag.models.prices import PriceTable
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.testing.loopback import LoopbackServer, canned

PROMPTS = Path(__file__).parents[2] / "prompts"
ANSWERS = canned({"Verbalized": '{"probability": 0.5}', None: "It rises by 12 %."})
KEY = "sk-planted-4f1d9b7c2e"
WIRES: dict[str, dict[str, Any]] = {
    "responses": {"provider": "openai", "api": "responses"},
    "chat": {"provider": "openai", "sampling": {"seed": 3, "temperature": 0.5}},
    "anthropic": {"provider": "anthropic", "sampling": {"temperature": 0.5}},
}

TWO_WIRES = ("responses", "anthropic")
Answer = tuple[Any, ...]
Evil = Callable[[str, str, Answer], Answer | None]
"""A server's ill will: method, path and what it would have answered; None: that."""


@dataclass
class Stage:
    """A stage's gateway on one cache folder, as often as it is run."""

    folder: Path
    settings: ModelSettings
    mode: str = "deferred"

    async def ask(self, *claims: str, budget: BudgetLimits | None = None) -> list[Any]:
        """The probability of each claim, or the error."""
        with CallCache(self.folder, stage="test") as cache:
            collect = self.mode == "deferred"
            pending = PendingCalls(self.folder, stage="test", collect=collect)
            provider = make_provider(self.settings)
            wrap = partial(Batched, pending)
            prompts, prices = Prompts(PROMPTS), PriceTable()
            money = budget and open_budget(budget, self.settings, provider, cache, prices)
            gate = Gateway(provider, self.settings, cache, prompts, wrap=wrap, budget=money)
            asked = (gate.ask(VERBALIZED, question="Q", claim=c) for c in claims)
            found = await asyncio.gather(*asked, return_exceptions=True)
            pending.sweep()
            await gate.close()
            pending.close()
        return [
            item if isinstance(item, BaseException) else item.parsed.probability for item in found
        ]

    @property
    def calls(self) -> dict[str, int]:
        """How many calls wait, are sent, are answered."""
        return counts(self.store.calls())

    @property
    def store(self) -> PendingStore:
        return PendingStore(self.folder)

    def rows(self) -> list[Any]:
        """What is in the call cache."""
        return list(read_calls(self.folder))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(ANSWERS) as running:
        yield running


def free(store: PendingStore, part: Part) -> None:
    """Whatever a batch costs."""


def holding(folder: Path, text: str) -> list[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if text.encode() in path.read_bytes()]


def stage(tmp_path: Path, server: LoopbackServer | None, wire: str) -> Stage:
    url = "http://127.0.0.1:9/v1" if server is None else server.url
    given = {"model": "m/1", "base_url": url, "api_key_env": "LOOPBACK_KEY", **WIRES[wire]}
    return Stage(tmp_path / "calls", ModelSettings.model_validate(given))


@pytest.fixture
def planted_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    yield
    provider_of.cache_clear()  # tests set its limits


def paid(tmp_path: Path, server: LoopbackServer, wire: str, most: int = 500) -> Stage:
    """A stage whose model costs money and writes ``most`` tokens at most."""
    work = stage(tmp_path, server, wire)
    given = work.settings.model_dump() | {"paid": True, "sampling": {"max_output_tokens": most}}
    work.settings = ModelSettings.model_validate(given)
    return work


def turn(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, evil: Evil) -> None:
    handle = server.batches.handle

    def handled(method: str, path: str, *rest: Any) -> Answer:
        answer = handle(method, path, *rest)
        return evil(method, path, answer) or answer

    monkeypatch.setattr(server.batches, "handle", handled)
