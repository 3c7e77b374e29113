"""A stage without calls: what is stored is used, what is not is counted and goes no further.

The stage's own code runs over it, so that the calls it would make are known by their very keys, as
far as they do not depend on replies that are not there yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulrag.calls import CallCache, call_key
from simulrag.errors import CacheError, ModelUnavailable
from simulrag.method.simulation import Simulations
from simulrag.models.base import Completion, Message, Request
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Evidence, Usage

CHARACTERS_PER_TOKEN = 4
"""Of English text, about; tokenizers differ."""


class Rehearsal(Gateway):
    """A gateway that answers from a cache in mode ``replay``.

    ``stored``: the usage of the calls that are there, by task and key; ``missing``: the estimated
    prompt tokens of those that are not. A call that is not there raises ModelUnavailable.
    """

    def __init__(self, settings: ModelSettings, cache: CallCache, prompts: Prompts) -> None:
        super().__init__(make_provider(settings), settings, cache, prompts)
        self.stored: dict[str, dict[str, Usage]] = {}
        self.missing: dict[str, dict[str, int]] = {}

    async def complete(self, request: Request) -> Completion:
        """The stored completion. Raises ModelUnavailable where there is none."""
        key = call_key("model", self.key(request))
        try:
            completion = await super().complete(request)
        except CacheError:
            tokens = estimated_tokens(request.messages)
            self.missing.setdefault(request.task, {})[key] = tokens
            raise ModelUnavailable(f"'{request.task}' is not stored") from None
        self.stored.setdefault(request.task, {})[key] = completion.usage
        return completion


class StoredRuns(Simulations):
    """A simulator whose stored runs are used and that runs nothing."""

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """The stored evidence. Raises ModelUnavailable where there is none."""
        try:
            return await super().run(tool, arguments, seed)
        except CacheError:
            # Not a RunError: the model would be told of it and asked again.
            raise ModelUnavailable("the simulator has not run yet") from None


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, about."""
    return sum(len(message.content) for message in messages) // CHARACTERS_PER_TOKEN
