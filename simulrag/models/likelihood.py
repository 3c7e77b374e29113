"""How probable a given answer is to a model: the log-probabilities of its own tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulrag.records import Record

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway


class TokenLikelihoods(Record):
    """The tokens of a given answer and their natural log-probabilities, in order.

    ``cached``: nothing was paid now.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    cached: bool = False


async def likelihood(
    gateway: Gateway, task: str, answer: str, **values: object
) -> TokenLikelihoods:
    """The task's prompt rendered with ``values``, and how probable ``answer`` is after it.

    Stored as any other call; the key holds the answer as ``forced``. Raises InputError for an empty
    answer and LikelihoodMissing, a ModelError, with the reason where the provider has none.
    """
    raise NotImplementedError
