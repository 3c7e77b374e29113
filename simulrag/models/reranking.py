"""How well texts fit a question: a server's reranker, or the similarity of sentence vectors.

Both give ``simulrag.metrics.score.Scorer``s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway


def reranker(
    gateway: Gateway, task: str = "rerank"
) -> Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]:
    """Scores by a compatible ``/v1/rerank``, stored as any other call.

    Raises LikelihoodMissing's sibling RerankMissing, a ModelError, where the provider has none.
    """
    raise NotImplementedError


async def minilm_similarity(query: str, texts: Sequence[str]) -> list[float]:
    """Cosines of all-MiniLM-L6-v2 vectors: weights in a package, no server, the same everywhere.

    Raises EnvironmentFault where the extra ``score`` is not installed.
    """
    raise NotImplementedError
