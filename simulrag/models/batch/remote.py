"""Batches at their provider, by the official SDKs: sent, asked about, read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from simulrag.errors import (
    ModelError,
    ModelThrottled,
    ModelUnreachable,
    ReplyRefused,
    SimulRAGError,
)
from simulrag.models.batch.lines import Part, provider_of
from simulrag.models.pending import Target
from simulrag.models.providers.credentials import read_key, scrub
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S
from simulrag.records import Record

READ_TIMEOUT_S = 600.0


class BatchState(Record):
    """How far a batch is. ``done`` counts requests that have a result, failed ones too."""

    status: str
    ended: bool
    done: int = 0
    total: int = 0
    problem: str = ""


class Remote(Protocol):
    """One provider's batches."""

    def create(self, part: Part) -> str:
        """Send a batch; its id at the provider."""
        ...

    def state(self, id: str) -> BatchState:
        """How far it is."""
        ...

    def results(self, id: str) -> Iterator[str]:
        """The result lines of a batch that has ended."""
        ...


@contextmanager
def connected(target: Target) -> Iterator[Remote]:
    """The batches of a target's provider.

    Errors of the SDK come out as ours, without the key: ModelError, EnvironmentFault for a key that
    is missing or not accepted, InputError for what the server does not know. ``was_not_taken``
    tells which of them leave no doubt that nothing was sent.
    """
    server = provider_of(target).server
    key = read_key(server.key_variable, server.base_url)
    failure: SimulRAGError
    sdk, client, remote = _CLIENTS[target.provider](server.base_url, key)
    try:
        with client:
            yield remote(client, key)
        return
    except sdk.APIError as error:
        failure = server.failure(error, sdk, key)
    raise failure  # outside the handler: the SDK's error, which quotes the server, is not chained


def was_not_taken(error: SimulRAGError) -> bool:
    """The provider certainly made no batch: a timeout or a lost connection leaves that open."""
    never = (ReplyRefused, ModelThrottled, ModelUnreachable)
    return isinstance(error, never) or not isinstance(error, ModelError)


class _OpenAI:
    ENDED = frozenset({"completed", "failed", "expired", "cancelled"})

    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._key = key

    def create(self, part: Part) -> str:
        content = (f"{part.name}.jsonl", part.text.encode())
        file = self._client.files.create(file=content, purpose="batch")
        made = self._client.batches.create(
            input_file_id=file.id,
            endpoint=part.path,
            completion_window="24h",
            metadata={"simulrag": part.name},
        )
        return str(made.id)

    def state(self, id: str) -> BatchState:
        batch = self._client.batches.retrieve(id)
        counts = batch.request_counts
        said = [item.message for item in (batch.errors.data or [])] if batch.errors else []
        return BatchState(
            status=batch.status,
            ended=batch.status in self.ENDED,
            done=(counts.completed or 0) + (counts.failed or 0) if counts else 0,
            total=counts.total or 0 if counts else 0,
            problem=scrub("; ".join(str(text) for text in said), self._key),
        )

    def results(self, id: str) -> Iterator[str]:
        batch = self._client.batches.retrieve(id)
        for file in (batch.output_file_id, batch.error_file_id):
            if file is not None:
                yield from self._client.files.content(file).text.split("\n")


class _Anthropic:
    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._key = key

    def create(self, part: Part) -> str:
        import json

        requests = [json.loads(line) for line in part.lines]
        return str(self._client.messages.batches.create(requests=requests).id)

    def state(self, id: str) -> BatchState:
        batch = self._client.messages.batches.retrieve(id)
        counts = batch.request_counts
        done = counts.succeeded + counts.errored + counts.canceled + counts.expired
        return BatchState(
            status=batch.processing_status,
            ended=batch.processing_status == "ended",
            done=done,
            total=done + counts.processing,
        )

    def results(self, id: str) -> Iterator[str]:
        for result in self._client.messages.batches.results(id):
            yield str(result.to_json(indent=None))


_Made = tuple[Any, Any, Callable[[Any, str], Remote]]


def _openai(base_url: str, key: str) -> _Made:
    import openai

    timeout = openai.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    client = openai.OpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=timeout)
    return openai, client, _OpenAI


def _anthropic(base_url: str, key: str) -> _Made:
    import anthropic

    timeout = anthropic.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    client = anthropic.Anthropic(api_key=key, base_url=base_url, max_retries=0, timeout=timeout)
    return anthropic, client, _Anthropic


# Retries are off: a repeated POST could make, and bill, a batch twice.
_CLIENTS: dict[str, Callable[[str, str], _Made]] = {"anthropic": _anthropic, "openai": _openai}
