"""Anthropic's batches: requests in one call, results in a stream.

https://docs.anthropic.com/en/docs/build-with-claude/batch-processing: a line has ``custom_id`` and
``params``, a result ``result``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from simulrag.models.providers.batches import Batches, BatchState, SentBatch

_MENDED_BY_NOBODY = frozenset({"invalid_request_error", "request_too_large"})


class AnthropicBatches(Batches):
    """Of one model each."""

    client = "Anthropic"
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
        if kind == "succeeded" and isinstance(result.get("message"), dict):
            message: dict[str, Any] = result["message"]
            return message
        if kind == "errored":
            error = result.get("error")
            error = error.get("error", error) if isinstance(error, dict) else {}
            if error.get("type") in _MENDED_BY_NOBODY:
                return f"the provider refused the request: {error.get('message')}"
            return None
        if kind in {"canceled", "expired"}:
            return None
        raise ValueError("'result' is not one of succeeded, errored, canceled, expired")

    def create(self, batch: SentBatch) -> str:
        """See Batches.create."""
        requests = [json.loads(line) for line in batch.lines]
        return str(self._client.messages.batches.create(requests=requests).id)

    def state(self, id: str) -> BatchState:
        """See Batches.state."""
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
        """See Batches.results."""
        for result in self._client.messages.batches.results(id):
            yield str(result.to_json(indent=None))
