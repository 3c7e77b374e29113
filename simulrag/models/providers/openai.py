"""OpenAI and every server that speaks its Chat Completions, by the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from simulrag.errors import InputError, SimulRAGError
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.providers.credentials import known_key, read_key
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S, ODD_SHAPE, Server
from simulrag.models.providers.openai_wires import (
    chat_body,
    chat_reply,
    responses_body,
    responses_reply,
)
from simulrag.models.providers.payment import costs_money
from simulrag.models.settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OFFICIAL_URL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"


class OpenAIProvider:
    """One attempt a call: the SDK's own retries are off, so that attempts are counted once.

    OpenAI's own server is asked by the Responses API, every other by Chat Completions, which all
    of them speak; ``settings.api`` decides otherwise.

    The key is read from the environment at the first call and never before: work that is stored
    needs none. OPENAI_API_KEY is the default for OpenAI's own server alone; another server is sent
    a key only where ``api_key_env`` names it, since a key must not travel to a host by default.

    ``sampling.seed`` is sent as seed plus sample index: one seed for all samples would make m
    diverse answers one answer m times. Raises InputError for a seed that the Responses API, which
    knows none, would have to leave out.
    """

    name = "openai"

    def __init__(self, settings: ModelSettings) -> None:
        base_url = settings.base_url or OFFICIAL_URL
        self._official = is_official(base_url)
        self.paid = costs_money(settings.paid, settings.base_url)
        self._responses = settings.api == "responses" or (settings.api == "auto" and self._official)
        samplings = (settings.sampling, *settings.tasks.values())
        if self._responses and any(sampling.seed is not None for sampling in samplings):
            raise InputError(
                "OpenAI's Responses API takes no seed; leave it out of the sampling, or set "
                "'api: chat'"
            )
        wire = "Responses API" if self._responses else "Chat Completions"
        self._server = Server(base_url, settings.model, key_variable(settings), wire)
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
        key = read_key(self._server.key_variable, self._server.base_url)
        client = self._connected(key)
        body = self.body(messages, schema, sampling, sample_index)
        failure: SimulRAGError
        import openai

        try:
            response: Any
            if self._responses:
                response = await client.responses.create(**body)
                return responses_reply(response, key, sampling)
            response = await client.chat.completions.create(**body)
            return chat_reply(response, key, sampling)
        except openai.APIError as error:
            failure = self._server.failure(error, openai, key)
        except ValueError:
            failure = self._server.no_json()
        except ODD_SHAPE:
            failure = self._server.odd_shape()
        # Raised outside the handler: the SDK's error, which quotes the server, is not chained.
        raise failure

    @property
    def server(self) -> Server:
        """Who is asked."""
        return self._server

    @property
    def path(self) -> str:
        """The interface that is asked, as a batch names it."""
        return "/v1/responses" if self._responses else "/v1/chat/completions"

    def body(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> dict[str, Any]:
        """The JSON that is sent, by a call or as a line of a batch."""
        model = self._server.model
        if self._responses:
            return responses_body(model, messages, schema, sampling)
        return chat_body(
            model, messages, schema, sampling, sample_index=sample_index, official=self._official
        )

    def read(self, body: dict[str, Any], sampling: Sampling) -> ProviderReply:
        """The reply in a response's JSON. Raises ModelError (refused, truncated, unavailable)."""
        from openai.types.chat import ChatCompletion
        from openai.types.responses import Response

        key = known_key(self._server.key_variable)
        if self._responses:
            return responses_reply(Response.construct(**body), key, sampling)
        return chat_reply(ChatCompletion.construct(**body), key, sampling)

    async def close(self) -> None:
        """Free connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self, key: str) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, Timeout

            # The gateway holds the whole attempt to its deadline; only connecting has its own.
            self._client = AsyncOpenAI(
                api_key=key,
                base_url=self._server.base_url,
                max_retries=0,
                timeout=Timeout(None, connect=CONNECT_TIMEOUT_S),
            )
        return self._client


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
