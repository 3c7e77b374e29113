"""Anthropic's models, by the official SDK and its Messages API.

Its batches are requests in one call, results in a stream
(https://docs.anthropic.com/en/docs/build-with-claude/batch-processing): a line has ``custom_id``
and ``params``, a result ``result``.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from simulrag.errors import InputError, ModelUnavailable, ReplyRefused, ReplyTruncated
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.providers.faults import scrub, without_key
from simulrag.models.providers.sdk import Batches, BatchState, SdkProvider
from simulrag.models.providers.wires import (
    count,
    cut_off,
    refuse_logprobs,
    schema_title,
    strict_schema,
)
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage

if TYPE_CHECKING:
    from simulrag.models.batch.lines import Part

OFFICIAL_URL = "https://api.anthropic.com"
OFFICIAL_KEY = "ANTHROPIC_API_KEY"
DEFAULT_MAX_TOKENS = 8192
"""The API insists on a limit; this one is sent where the sampling names none."""
_MENDED_BY_NOBODY = frozenset({"invalid_request_error", "request_too_large"})


class AnthropicBatches(Batches):
    """Of one model each."""

    # Providers count in millions of bytes or in MiB; the smaller reading is safe in both.
    most_requests, most_bytes = 100_000, 256_000_000
    result = "result"

    @staticmethod
    def request(path: str, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG004 there is one
        """See Batches.request."""
        return {"params": body}

    @staticmethod
    def body(content: dict[str, Any]) -> dict[str, Any] | str | None:
        """See Batches.body."""
        result = content["result"]
        kind = result.get("type") if isinstance(result, dict) else None
        if kind == "succeeded":
            message = result.get("message")
            return message if isinstance(message, dict) else {}
        if kind == "errored":
            error = result.get("error")
            error = error.get("error", error) if isinstance(error, dict) else {}
            if isinstance(error, dict) and str(error.get("type")) in _MENDED_BY_NOBODY:
                return f"the provider refused the request: {error.get('message')}"
            return None
        if kind in {"canceled", "expired"}:
            return None
        raise ValueError("'result' is not one of succeeded, errored, canceled, expired")

    async def create(self, batch: Part) -> str:
        """See Batches.create."""
        requests = [json.loads(line) for line in batch.lines]
        made = await self._client.messages.batches.create(requests=requests)
        return self._id(made)

    async def state(self, id: str) -> BatchState:
        """See Batches.state."""
        batch = await self._client.messages.batches.retrieve(id)
        counts = batch.request_counts
        done = counts.succeeded + counts.errored + counts.canceled + counts.expired
        return BatchState(
            status=scrub(str(batch.processing_status), self._key),
            ended=batch.processing_status == "ended",
            done=done,
            total=done + counts.processing,
        )

    async def results(self, id: str) -> AsyncIterator[Any]:
        """See Batches.results."""
        batches = self._client.messages.batches
        async with batches.with_streaming_response.results(id) as response:
            yield response.http_response


class AnthropicProvider(SdkProvider):
    """A reply with a schema is asked for as the one tool that the model has to call.

    Or, where ``settings.structured`` says so, by ``output_config.format``, which models that think
    take too. That form wants closed objects: a schema with open ones (a tool's arguments) is then
    offered as a tool that the model may call. The system part of a prompt holds what stays from
    call to call (instructions, the handbook) and is marked for the provider's prompt cache,
    together with the tool before it; parts below the model's shortest cacheable length are not
    cached, and the mark costs nothing there.

    Raises InputError for sampling fields that the API does not know: left out silently, they would
    stand in results unused.
    """

    name = "anthropic"
    sdk = "anthropic"
    client = "AsyncAnthropic"
    batches = AnthropicBatches
    path = "/v1/messages"
    max_output_tokens = DEFAULT_MAX_TOKENS

    def __init__(self, settings: ModelSettings) -> None:
        refuse_logprobs(settings, "Anthropic's API")
        for sampling in (settings.sampling, *settings.tasks.values()):
            if sampling.seed is not None:
                raise InputError("Anthropic's API takes no seed; leave it out of the sampling")
            if sampling.reasoning_effort is not None and settings.structured == "tool":
                raise InputError(
                    "replies are asked for as a forced tool, which excludes extended thinking; "
                    "leave reasoning_effort out of the sampling of provider 'anthropic', or set "
                    "'structured: output_format'"
                )
        # The SDK adds /v1/messages itself; elsewhere base_url ends in /v1, so both are taken.
        base_url = (settings.base_url or OFFICIAL_URL).rstrip("/").removesuffix("/v1")
        super().__init__(settings, base_url, "Messages API")

    @property
    def key_variable(self) -> str | None:
        """See Provider.key_variable."""
        official = self.settings.base_url is None
        return self.settings.api_key_env or (OFFICIAL_KEY if official else None)

    def body(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,  # noqa: ARG002 samples differ by the model's own randomness
    ) -> dict[str, Any]:
        """See SdkProvider.body."""
        body: dict[str, Any] = {
            "model": self.settings.model,
            "max_tokens": sampling.max_output_tokens or DEFAULT_MAX_TOKENS,
            "messages": [item.model_dump() for item in messages if item.role != "system"],
        }
        system = "\n\n".join(item.content for item in messages if item.role == "system")
        if system:
            body["system"] = [
                {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
            ]
        chosen = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        body |= {name: value for name, value in chosen.items() if value is not None}
        output: dict[str, Any] = {}
        if sampling.reasoning_effort is not None:
            output["effort"] = sampling.reasoning_effort
        if schema is not None:
            closed = strict_schema(schema) if self.settings.structured == "output_format" else None
            if closed is not None:
                from anthropic import transform_schema

                # Limits that the interface does not know become words of the schema's description.
                output["format"] = {"type": "json_schema", "schema": transform_schema(closed)}
            else:
                name = schema_title(schema)
                body["tools"] = [{"name": name, "input_schema": schema}]
                forced = {"type": "tool", "name": name}
                choice = forced if self.settings.structured == "tool" else {"type": "auto"}
                body["tool_choice"] = {**choice, "disable_parallel_tool_use": True}
        if output:
            body["output_config"] = output
        return body

    async def send(self, client: Any, body: dict[str, Any]) -> Any:
        """See SdkProvider.send."""
        # The SDK has dropped these arguments, since new models refuse them; the API takes them
        # still.
        dropped = {name: body.pop(name) for name in ("temperature", "top_p") if name in body}
        return await client.messages.create(**body, extra_body=dropped or None)

    def parsed(self, body: dict[str, Any]) -> Any:
        """See SdkProvider.parsed."""
        from anthropic.types import Message as Response

        return Response.construct(**body)

    def reply(self, response: Any, key: str, sampling: Sampling) -> ProviderReply:
        """See SdkProvider.reply."""
        # The SDK does not validate what compatible servers send: any field may be missing.
        blocks = getattr(response, "content", None)
        usage = _usage(getattr(response, "usage", None))
        if not isinstance(blocks, list):
            raise ModelUnavailable(
                "the server's answer holds no content; is it a Messages API server?", usage=usage
            )
        text = "".join(block.text for block in blocks if block.type == "text")
        stop = getattr(response, "stop_reason", None)
        if stop == "refusal":
            raise ReplyRefused(f"the model refused: {scrub(text, key) or 'no reason'}", usage=usage)
        if stop == "model_context_window_exceeded":
            raise ReplyTruncated("prompt and reply exceed the model's context window", usage=usage)
        if stop == "max_tokens":
            raise cut_off(sampling.max_output_tokens or DEFAULT_MAX_TOKENS, usage)
        for block in blocks:
            if block.type == "tool_use":
                text = json.dumps(block.input, ensure_ascii=False)
                break
        return ProviderReply(
            text=without_key(text, key),
            usage=usage,
            model_version=scrub(str(getattr(response, "model", None) or ""), key),
        )


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage(calls=1)
    read = count(usage, "cache_read_input_tokens")
    written = count(usage, "cache_creation_input_tokens")
    # The API's input_tokens are those that the prompt cache had nothing to do with.
    return Usage(
        calls=1,
        input_tokens=count(usage, "input_tokens") + read + written,
        output_tokens=count(usage, "output_tokens"),
        cached_input_tokens=read,
        cache_write_tokens=written,
    )
