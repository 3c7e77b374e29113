"""Provider ``stand-in``: no model, but replies that fit, to try a pipeline without a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.providers.base import Provider
from simulrag.records import CHARACTERS_PER_TOKEN, Usage
from simulrag.stand_in import Prompted
from simulrag.task import without_model


class StandInProvider(Provider):
    """Says what ``simulrag.stand_in`` makes of a prompt; it costs nothing and means nothing."""

    name: ClassVar[str] = "stand-in"
    local: ClassVar[bool] = True

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,  # noqa: ARG002 there is nothing to sample
        sample_index: int,
    ) -> ProviderReply:
        """See Provider.call."""
        shape = str(schema["title"]) if schema else ""
        text = without_model(Prompted(messages, shape, sample_index), schema or {})
        sent = sum(len(message.content) for message in messages)
        counted = (length // CHARACTERS_PER_TOKEN for length in (sent, len(text)))
        usage = Usage(calls=1, **dict(zip(("input_tokens", "output_tokens"), counted, strict=True)))
        return ProviderReply(text=text, usage=usage, model_version="stand-in")
