"""OpenAI and every server that speaks its Chat Completions, by the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from simulrag.errors import InputError, NotOffered
from simulrag.models.base import Measure, Message, ProviderReply, Sampling
from simulrag.models.logprobs import refuse_logprobs
from simulrag.models.providers.openai_batches import OpenAIBatches
from simulrag.models.providers.openai_wires import (
    chat_body,
    chat_reply,
    responses_body,
    responses_reply,
)
from simulrag.models.providers.sdk import SdkProvider
from simulrag.models.settings import ModelSettings

OFFICIAL_URL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"
NO_EFFORT = (None, "none")


class OpenAIProvider(SdkProvider):
    """OpenAI's own server is asked by the Responses API, every other by Chat Completions.

    ``settings.api`` decides otherwise. OPENAI_API_KEY is the default for OpenAI's own server only;
    another server is sent a key only where ``api_key_env`` names it, since a key must not travel
    to a host by default.

    ``sampling.seed`` is sent as seed plus sample index: one seed for all samples would make m
    diverse answers one answer m times. Raises InputError for a seed that the Responses API, which
    knows none, would have to leave out.
    """

    name = "openai"
    sdk = "openai"
    client = "AsyncOpenAI"
    batches = OpenAIBatches

    def __init__(self, settings: ModelSettings) -> None:
        base_url = settings.base_url or OFFICIAL_URL
        self._official = is_official(base_url)
        self._responses = settings.api == "responses" or (settings.api == "auto" and self._official)
        samplings = (settings.sampling, *settings.tasks.values())
        if self._responses and any(sampling.seed is not None for sampling in samplings):
            raise InputError(
                "OpenAI's Responses API takes no seed; leave it out of the sampling, or set "
                "'api: chat'"
            )
        for sampling in map(settings.sampling_of, ("", *settings.tasks)):
            if sampling.top_logprobs is not None and sampling.reasoning_effort not in NO_EFFORT:
                refuse_logprobs(settings, "a model that reasons")
        super().__init__(
            settings, base_url, "Responses API" if self._responses else "Chat Completions"
        )

    @property
    def key_variable(self) -> str | None:
        """See Provider.key_variable."""
        return self.settings.api_key_env or (OFFICIAL_KEY if self._official else None)

    @property
    def path(self) -> str:
        """See SdkProvider.path."""
        return "/v1/responses" if self._responses else "/v1/chat/completions"

    def body(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> dict[str, Any]:
        """See SdkProvider.body."""
        model = self.settings.model
        if self._responses:
            return responses_body(model, messages, schema, sampling)
        return chat_body(
            model, messages, schema, sampling, sample_index=sample_index, official=self._official
        )

    async def send(self, client: Any, body: dict[str, Any]) -> Any:
        """See SdkProvider.send."""
        if self._responses:
            return await client.responses.create(**body)
        return await client.chat.completions.create(**body)

    async def measure(self, measure: Measure, messages: Sequence[Message]) -> ProviderReply:
        """See Provider.measure. By the interfaces of vLLM, SGLang and servers alike."""
        from simulrag.models.providers.openai_measures import measured

        if self._official:
            raise NotOffered(
                "OpenAI's own server gives log-probabilities of its own words alone and no "
                f"reranker; for a {measure} set base_url to a vLLM or SGLang server, or use "
                "provider 'local'"
            )
        return await self.exchange(
            lambda client, _: measured(client, self.settings.model, measure, messages)
        )

    def parsed(self, body: dict[str, Any]) -> Any:
        """See SdkProvider.parsed."""
        from openai.types.chat import ChatCompletion
        from openai.types.responses import Response

        return (Response if self._responses else ChatCompletion).construct(**body)

    def reply(self, response: Any, key: str, sampling: Sampling) -> ProviderReply:
        """See SdkProvider.reply."""
        return (responses_reply if self._responses else chat_reply)(response, key, sampling)


def is_official(base_url: str) -> bool:
    """Whether a URL is one of OpenAI's own hosts, by https."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == "openai.com" or host.endswith(".openai.com"))
