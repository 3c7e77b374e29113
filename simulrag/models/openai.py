"""OpenAI and every server that speaks its Chat Completions, by the official SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from simulrag.errors import EnvironmentFault, InputError, ModelError, SimulRAGError
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.gateway import ModelSettings
from simulrag.models.retry_after import retry_after_s
from simulrag.models.strictness import strict_schema
from simulrag.records import Usage

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI
    from openai.types import CompletionUsage

OFFICIAL_URL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"
NO_KEY = "no-key-needed"
"""Sent to a server of one's own that asks for no key: the SDK insists on some text."""

_CONNECT_TIMEOUT_S = 10.0
_SHORTEST_SECRET = 8
_SHOWN_CHARACTERS = 300


class OpenAIProvider:
    """One attempt a call: the SDK's own retries are off, so that attempts are counted once.

    The key is read from the environment at the first call and never before: work that is stored
    needs none. OPENAI_API_KEY is the default for OpenAI's own server alone; another server is sent
    a key only where ``api_key_env`` names it, since a key must not travel to a host by default.

    ``sampling.seed`` is sent as seed plus sample index: one seed for all samples would make m
    diverse answers one answer m times.
    """

    name = "openai"

    def __init__(self, settings: ModelSettings) -> None:
        self._model = settings.model
        self._base_url = settings.base_url or OFFICIAL_URL
        self._official = is_official(self._base_url)
        self._key_variable = key_variable(settings)
        self._client: AsyncOpenAI | None = None

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        """See Provider.call.

        Raises ModelError (refused, truncated, unavailable, timeout); EnvironmentFault where the
        key is missing or not accepted; InputError where the server knows no such model.
        """
        key = self._key()
        client = self._connected(key)
        failure: SimulRAGError
        from openai import APIError

        try:
            response: Any = await client.chat.completions.create(
                **self._body(messages, schema, sampling, sample_index)
            )
            return _reply(response, key, sampling)
        except APIError as error:
            failure = self._failure(error, key)
        except ValueError:
            failure = ModelError(
                f"{self._base_url} sent a body that is no JSON; is it a Chat Completions server?",
                kind="unavailable",
            )
        # Raised outside the handler: the SDK's error, which quotes the server, is not chained.
        raise failure

    async def close(self) -> None:
        """Free connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _key(self) -> str:
        if self._key_variable is None:
            return NO_KEY
        key = os.environ.get(self._key_variable, "").strip()
        if not key:
            raise EnvironmentFault(
                f"the environment variable {self._key_variable} is not set; it must hold the key "
                f"for {self._base_url} (set it, or choose provider 'offline')"
            )
        return key

    def _connected(self, key: str) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, Timeout

            # The gateway holds the whole attempt to its deadline; only connecting has its own.
            self._client = AsyncOpenAI(
                api_key=key,
                base_url=self._base_url,
                max_retries=0,
                timeout=Timeout(None, connect=_CONNECT_TIMEOUT_S),
            )
        return self._client

    def _body(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": item.role, "content": item.content} for item in messages],
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.top_p is not None:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = sampling.seed + sample_index
        if sampling.max_output_tokens is not None:
            # OpenAI renamed the field; many compatible servers know the old name alone.
            field = "max_completion_tokens" if self._official else "max_tokens"
            body[field] = sampling.max_output_tokens
        if schema is not None:
            body["response_format"] = response_format(schema)
        return body

    def _failure(self, error: APIError, key: str) -> SimulRAGError:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return ModelError(
                f"{self._base_url} could not be reached in {_CONNECT_TIMEOUT_S:g} s",
                kind="timeout",
                cause="unreachable",
            )
        if isinstance(error, APIConnectionError):
            cause = scrub(str(error.__cause__ or error), key)
            return ModelError(
                f"no connection to {self._base_url} ({cause}); is base_url right?",
                kind="unavailable",
                # By name: which HTTP library raises it is the SDK's affair and has changed.
                cause="unreachable" if type(error.__cause__).__name__ == "ConnectError" else None,
            )
        if not isinstance(error, APIStatusError):
            return ModelError(
                f"{self._base_url} sent no usable answer: {scrub(error.message, key)}",
                kind="unavailable",
            )
        if error.status_code == 429 and error.code == "insufficient_quota":
            return EnvironmentFault(
                f"the account at {self._base_url} has no credit left (429): "
                f"{scrub(error.message, key)}; everything paid for is kept"
            )
        return self._status_failure(
            error.status_code, scrub(error.message, key), retry_after_s(error.response.headers)
        )

    def _status_failure(self, status: int, said: str, wait_s: float | None) -> SimulRAGError:
        if status in {401, 403}:
            variable = self._key_variable or "api_key_env (none is named)"
            return EnvironmentFault(
                f"{self._base_url} does not accept the key of {variable} ({status}): {said}"
            )
        if status == 404:
            return InputError(
                f"{self._base_url} knows no model '{self._model}', or base_url is wrong "
                f"(404): {said}"
            )
        if status == 429:
            return ModelError(
                f"{self._base_url} takes no more calls now, for the rate limit or the account's "
                f"quota (429): {said}; run again later to go on from here",
                kind="unavailable",
                cause="throttled",
                retry_after_s=wait_s,
            )
        if status in {408, 409} or status >= 500:
            return ModelError(
                f"{self._base_url} failed ({status}): {said}; run again to go on from here",
                kind="unavailable",
                retry_after_s=wait_s,
            )
        return ModelError(
            f"{self._base_url} refused the request ({status}): {said}", kind="refused"
        )


def is_official(base_url: str) -> bool:
    """Whether a URL is one of OpenAI's own hosts, by https."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == "openai.com" or host.endswith(".openai.com"))


def key_variable(settings: ModelSettings) -> str | None:
    """The environment variable whose value is sent as the key; None where none is."""
    if settings.api_key_env is not None:
        return settings.api_key_env
    return OFFICIAL_KEY if is_official(settings.base_url or OFFICIAL_URL) else None


def response_format(schema: dict[str, JsonValue]) -> dict[str, Any]:
    """The wire's ``response_format``: strict wherever the schema allows it."""
    strict = strict_schema(schema)
    title = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title", "Reply")))[:64]
    return {
        "type": "json_schema",
        "json_schema": {
            "name": title,
            "schema": schema if strict is None else strict,
            "strict": strict is not None,
        },
    }


def scrub(text: str, key: str) -> str:
    """``text`` on one short line, without the key that a server may have quoted in it."""
    return " ".join(_without_key(text, key).split())[:_SHOWN_CHARACTERS]


def _without_key(text: str, key: str) -> str:
    # Shorter ones are placeholders such as "EMPTY", which may well be words of a reply.
    return text.replace(key, "***") if len(key) >= _SHORTEST_SECRET and key != NO_KEY else text


def _reply(response: Any, key: str, sampling: Sampling) -> ProviderReply:
    # The SDK does not validate what compatible servers send: any field may be missing.
    choices = getattr(response, "choices", None) or [None]
    message = getattr(choices[0], "message", None)
    if message is None:
        raise ModelError(
            "the server's answer holds no choice; is it a Chat Completions server?",
            kind="unavailable",
        )
    finish = getattr(choices[0], "finish_reason", None)
    if getattr(message, "refusal", None):
        raise ModelError(f"the model refused: {scrub(message.refusal, key)}", kind="refused")
    if finish == "content_filter":
        raise ModelError("the provider's content filter stopped the reply", kind="refused")
    if finish == "length":
        limit = sampling.max_output_tokens
        raise ModelError(
            f"the reply was cut off at {'the server’s limit' if limit is None else limit} tokens; "
            "raise sampling.max_output_tokens or the server's limit",
            kind="truncated",
        )
    return ProviderReply(
        text=_without_key(message.content or "", key),
        usage=_usage(getattr(response, "usage", None)),
        model_version=_without_key(str(getattr(response, "model", None) or ""), key),
    )


def _usage(usage: CompletionUsage | None) -> Usage:
    if usage is None:
        return Usage(calls=1)
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        calls=1,
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_input_tokens=(details.cached_tokens or 0) if details is not None else 0,
    )
