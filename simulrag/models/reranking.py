"""How well texts fit a query, by a server's reranker."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from simulrag.models.base import Message, Request, Sampling

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway


def reranker(gateway: Gateway) -> Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]:
    """Scores by a compatible ``/v1/rerank``, one a text, stored as any other call.

    They raise NotOffered (a ModelError) where the provider has no reranker, and ModelError.
    """

    async def scores(query: str, texts: Sequence[str]) -> Sequence[float]:
        messages = tuple(Message(role="user", content=text) for text in (query, *texts))
        least = Sampling(max_output_tokens=1)
        request = Request("rerank", messages, sampling=least, measure="rerank")
        found: list[float] = json.loads((await gateway.complete(request)).text)
        return found

    return scores
