"""OpenAI's batches: files in, files out (https://platform.openai.com/docs/guides/batch).

A line has ``custom_id``, ``method``, ``url`` and ``body``; a result ``response`` or ``error``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulrag.models.providers.batches import Batches, BatchState, SentBatch
from simulrag.models.providers.credentials import scrub

_AGAIN_STATUS = frozenset({408, 409, 429})


class OpenAIBatches(Batches):
    """A file for each model and interface."""

    client = "OpenAI"
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
        if not isinstance(response, dict) or not isinstance(response.get("body"), dict):
            raise ValueError("'response' holds no body")
        status, body = response.get("status_code"), response["body"]
        if status == 200:
            answered: dict[str, Any] = body
            return answered
        if not isinstance(status, int):
            raise ValueError("'response' holds no status_code")
        if status in _AGAIN_STATUS or status >= 500:
            return None
        error = body.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        return f"the provider refused the request ({status}): {said or 'no reason'}"

    def create(self, batch: SentBatch) -> str:
        """See Batches.create."""
        content = (f"{batch.name}.jsonl", batch.text.encode())
        file = self._client.files.create(file=content, purpose="batch")
        made = self._client.batches.create(
            input_file_id=file.id,
            endpoint=batch.path,
            completion_window="24h",
            metadata={"simulrag": batch.name},
        )
        return str(made.id)

    def state(self, id: str) -> BatchState:
        """See Batches.state."""
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
        """See Batches.results."""
        batch = self._client.batches.retrieve(id)
        for file in (batch.output_file_id, batch.error_file_id):
            if file is not None:
                yield from self._client.files.content(file).text.split("\n")
