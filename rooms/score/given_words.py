"""Given words measured by a server: how probable an answer is, how well texts fit a query."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from simulrag.errors import InputError
from simulrag.models.base import Message, Request, Sampling
from simulrag.records import Record

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway


class TokenLikelihoods(Record):
    """The tokens of a given answer, by id (or text), and their natural log-probabilities.

    ``cached``: nothing was paid now.
    """

    tokens: tuple[int | str, ...]
    logprobs: tuple[float, ...]
    cached: bool = False


async def likelihood(
    gateway: Gateway, task: str, answer: str, **values: object
) -> TokenLikelihoods:
    """The task's prompt rendered with ``values``, and how probable ``answer`` is after it.

    Stored as any other call, under a key of its own kind. Raises InputError for an empty answer,
    NotOffered (a ModelError) with the reason where the provider has no such thing, and ModelError.
    """
    if not answer.strip():
        raise InputError("an empty answer has no tokens: there is no confidence in it")
    messages = (*gateway.rendered(task, **values), Message(role="assistant", content=answer))
    # The server writes one token that nobody looks at: what a budget reserves is the prompt.
    request = Request(task, messages, sampling=Sampling(max_output_tokens=1), measure="likelihood")
    completion = await gateway.complete(request)
    pairs = json.loads(completion.text)
    return TokenLikelihoods(
        tokens=tuple(token for token, _ in pairs),
        logprobs=tuple(value for _, value in pairs),
        cached=completion.cached,
    )


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
