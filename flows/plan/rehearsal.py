"""A stage without calls: what is stored is used, what is not is counted and goes no further.

The stage's own code runs over it, so that the calls it would make are known by their very keys, as
far as they do not depend on replies that are not there yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from simulrag.calls import CallCache, call_key
from simulrag.errors import CacheError, ModelError
from simulrag.method.simulation import Simulations
from simulrag.models.base import Completion, Message, Provider, ProviderReply, Request, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Evidence, Usage

CHARACTERS_PER_TOKEN = 4
"""Of English text, about; tokenizers differ."""


class Nobody:
    """A provider that is never asked. Calls are keyed as those of ``stands_for``."""

    name = "nobody"

    def __init__(self, stands_for: Provider) -> None:
        identity = getattr(stands_for, "identity", None)
        if identity is not None:
            self.identity = identity

    async def call(
        self,
        messages: Sequence[Message],  # noqa: ARG002
        schema: dict[str, JsonValue] | None,  # noqa: ARG002
        sampling: Sampling,  # noqa: ARG002
        sample_index: int,  # noqa: ARG002
    ) -> ProviderReply:
        """Raises ModelError."""
        raise ModelError("a rehearsal makes no call", kind="unavailable")

    async def close(self) -> None:
        """Nothing is open."""


class Rehearsal(Gateway):
    """A gateway that answers from a cache in mode ``replay``.

    ``stored``: the usage of the calls that are there, by task and key; ``missing``: the estimated
    prompt tokens of those that are not. A call that is not there raises ModelError.
    """

    def __init__(self, settings: ModelSettings, cache: CallCache, prompts: Prompts) -> None:
        super().__init__(Nobody(make_provider(settings)), settings, cache, prompts)
        self.stored: dict[str, dict[str, Usage]] = {}
        self.missing: dict[str, dict[str, int]] = {}

    async def complete(self, request: Request) -> Completion:
        """The stored completion. Raises ModelError where there is none."""
        key = call_key("model", self.key(request))
        try:
            completion = await super().complete(request)
        except CacheError:
            tokens = estimated_tokens(request.messages)
            self.missing.setdefault(request.task, {})[key] = tokens
            raise ModelError(f"'{request.task}' is not stored", kind="unavailable") from None
        self.stored.setdefault(request.task, {})[key] = completion.usage
        return completion


class StoredRuns(Simulations):
    """A simulator whose stored runs are used and that runs nothing."""

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """The stored evidence. Raises ModelError where there is none."""
        try:
            return await super().run(tool, arguments, seed)
        except CacheError:
            # Not a RunError: the model would be told of it and asked again.
            raise ModelError("the simulator has not run yet", kind="unavailable") from None


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, about."""
    return sum(len(message.content) for message in messages) // CHARACTERS_PER_TOKEN
