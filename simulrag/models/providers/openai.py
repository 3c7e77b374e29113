"""OpenAI and every server that speaks its Chat Completions, by the official SDK.

Its batches are files in, files out (https://platform.openai.com/docs/guides/batch). A line has
``custom_id``, ``method``, ``url`` and ``body``; a result ``response`` or ``error``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from simulrag.errors import InputError, NotOffered
from simulrag.models.base import Measure, Message, ProviderReply, Sampling
from simulrag.models.providers.faults import scrub
from simulrag.models.providers.openai_wires import (
    chat_body,
    chat_reply,
    responses_body,
    responses_reply,
)
from simulrag.models.providers.sdk import Batches, BatchState, SdkProvider
from simulrag.models.providers.wires import refuse_logprobs
from simulrag.models.settings import ModelSettings

if TYPE_CHECKING:
    from simulrag.models.batch.lines import Part

OFFICIAL_URL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"
NO_EFFORT = (None, "none")
_AGAIN_STATUS = frozenset({408, 409, 429})


class OpenAIBatches(Batches):
    """A file for each model and interface."""

    # Providers count in millions of bytes or in MiB; the smaller reading is safe in both.
    most_requests, most_bytes = 50_000, 200_000_000
    result = "response"

    @staticmethod
    def request(path: str, body: dict[str, Any]) -> dict[str, Any]:
        """See Batches.request."""
        return {"method": "POST", "url": path, "body": body}

    @staticmethod
    def body(content: dict[str, Any]) -> dict[str, Any] | str | None:
        """See Batches.body."""
        response = content["response"]
        if content.get("error") is not None or response is None:
            return None  # expired or cancelled before its turn
        status = response.get("status_code") if isinstance(response, dict) else None
        if type(status) is not int:
            raise ValueError("'response' holds no status_code")
        body = response.get("body")
        body = body if isinstance(body, dict) else {}
        if status == 200:
            return body
        if status in _AGAIN_STATUS or status >= 500:
            return None
        error = body.get("error")
        reason = error.get("message") if isinstance(error, dict) else None
        return f"the provider refused the request ({status}): {reason or 'no reason'}"

    async def create(self, batch: Part) -> str:
        """See Batches.create."""
        content = (f"{batch.name}.jsonl", batch.text.encode())
        file = await self._client.files.create(file=content, purpose="batch")
        made = await self._client.batches.create(
            input_file_id=file.id,
            endpoint=batch.path,
            completion_window="24h",
            metadata={"simulrag": batch.name},
        )
        return self._id(made)

    async def state(self, id: str) -> BatchState:
        """See Batches.state."""
        batch = await self._client.batches.retrieve(id)
        counts = batch.request_counts
        problems = [str(item.message) for item in (batch.errors.data or [])] if batch.errors else []
        return BatchState(
            status=scrub(str(batch.status), self._key),
            ended=batch.status in {"completed", "failed", "expired", "cancelled"},
            done=(counts.completed or 0) + (counts.failed or 0) if counts else 0,
            total=counts.total or 0 if counts else 0,
            problem=scrub("; ".join(problems), self._key),
        )

    async def results(self, id: str) -> AsyncIterator[Any]:
        """See Batches.results."""
        batch = await self._client.batches.retrieve(id)
        for file in (batch.output_file_id, batch.error_file_id):
            if file is not None:
                async with self._client.files.with_streaming_response.content(file) as response:
                    yield response.http_response


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
        """See Provider.measure."""
        from simulrag.models.providers.openai_wires import measured

        if self._official:
            raise NotOffered(
                "OpenAI's own server gives log-probabilities of its own words alone and no "
                f"reranker; for a {measure} set base_url to a compatible server, or use "
                "provider 'local'"
            )
        return await self.exchange(
            lambda client, key: measured(client, key, self.settings.model, measure, messages)
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
    """Tell whether a URL is one of OpenAI's own hosts, by https."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == "openai.com" or host.endswith(".openai.com"))
