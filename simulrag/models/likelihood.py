"""How probable a given answer is to a model: the log-probabilities of its own tokens."""

from __future__ import annotations

import json
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
