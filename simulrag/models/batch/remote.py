"""Batches at their provider, by the official SDKs: sent, asked about, read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S, ODD_SHAPE
from simulrag.records import Record

READ_TIMEOUT_S = 600.0


class BatchState(Record):
    """How far a batch is. ``done`` counts requests that have a result, failed ones too."""

    status: str
    ended: bool
    done: int = 0
    total: int = 0
    problem: str = ""


@contextmanager
def connected(target: Target) -> Iterator[OpenAIBatches | AnthropicBatches]:
    """The batches of a target's provider.

    Errors of the SDK come out as ours, without the key: ModelError, EnvironmentFault for a key that
    is missing or not accepted, InputError for what the server does not know. ``was_not_taken``
    tells which of them leave no doubt that nothing was sent.
    """
    import importlib

    server = provider_of(target).server
    key = read_key(server.key_variable, server.base_url)
    sdk = importlib.import_module(target.provider)
    anthropic = target.provider == "anthropic"
    remote = AnthropicBatches if anthropic else OpenAIBatches
    client = sdk.Anthropic if anthropic else sdk.OpenAI
    timeout = sdk.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    failure: SimulRAGError
    try:
        # Retries are off: a repeated POST could make, and bill, a batch twice.
        options = {
            "api_key": key,
            "base_url": server.base_url,
            "max_retries": 0,
            "timeout": timeout,
        }
        with client(**options) as opened:
            yield remote(opened, key)
        return
    except sdk.APIError as error:
        failure = server.failure(error, sdk, key)
    except (ValueError, *ODD_SHAPE):
        failure = server.odd_shape()
    raise failure  # outside the handler: the SDK's error, which quotes the server, is not chained


def was_not_taken(error: SimulRAGError) -> bool:
    """The provider certainly made no batch: a timeout or a lost connection leaves that open."""
    never = (ReplyRefused, ModelThrottled, ModelUnreachable)
    return isinstance(error, never) or not isinstance(error, ModelError)


class OpenAIBatches:
    """https://platform.openai.com/docs/guides/batch: files in, files out."""

    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._key = key

    def create(self, part: Part) -> str:
        """Send a batch; its id at the provider."""
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
        """How far it is."""
        batch = self._client.batches.retrieve(id)
        counts = batch.request_counts
        said = [str(item.message) for item in (batch.errors.data or [])] if batch.errors else []
        return BatchState(
            status=batch.status,
            ended=batch.status in {"completed", "failed", "expired", "cancelled"},
            done=(counts.completed or 0) + (counts.failed or 0) if counts else 0,
            total=counts.total or 0 if counts else 0,
            problem=scrub("; ".join(said), self._key),
        )

    def results(self, id: str) -> Iterator[str]:
        """The result lines of a batch that has ended."""
        batch = self._client.batches.retrieve(id)
        for file in (batch.output_file_id, batch.error_file_id):
            if file is not None:
                yield from self._client.files.content(file).text.split("\n")


class AnthropicBatches:
    """https://docs.anthropic.com/en/docs/build-with-claude/batch-processing."""

    def __init__(self, client: Any, key: str) -> None:  # noqa: ARG002 as the other's
        self._batches = client.messages.batches

    def create(self, part: Part) -> str:
        """Send a batch; its id at the provider."""
        return str(self._batches.create(requests=[json.loads(line) for line in part.lines]).id)

    def state(self, id: str) -> BatchState:
        """How far it is."""
        batch = self._batches.retrieve(id)
        counts = batch.request_counts
        done = counts.succeeded + counts.errored + counts.canceled + counts.expired
        return BatchState(
            status=batch.processing_status,
            ended=batch.processing_status == "ended",
            done=done,
            total=done + counts.processing,
        )

    def results(self, id: str) -> Iterator[str]:
        """The result lines of a batch that has ended."""
        for result in self._batches.results(id):
            yield str(result.to_json(indent=None))
