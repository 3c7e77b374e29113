"""What some compatible servers add to the loopback server: given words measured, reranking.

The toy model finds a word the more probable, the more
often it was shown before, and a document the better, the more of the query's words it has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from simulrag.testing.wires import Act, Body


def pieces(text: str) -> list[str]:
    """The toy tokenizer: words with the space before them."""
    return re.findall(r" ?[^\s]+|\s+", text)


def logprobs(tokens: Sequence[str]) -> list[float | None]:
    """Of each token after those before it; None for the first, as servers have it."""
    seen: dict[str, int] = {}
    found: list[float | None] = []
    for token in tokens:
        shown = seen.get(token.strip(), 0)
        found.append(math.log((shown + 0.1) / (shown + 1)) if found else None)
        seen[token.strip()] = shown + 1
    return found


def _completions(act: Act, body: Body) -> Body:
    tokens = [*pieces(body["prompt"]), " so"]
    values: list[float | None] = logprobs(tokens)
    if body["model"] == "nan":
        values[-2] = math.nan
    told: Any = {"tokens": tokens, "token_logprobs": values, "text_offset": [-1] * len(tokens)}
    if body["model"] == "llama.cpp":  # ignores echo without an error
        told = {"content": [{"id": 1, "token": " so", "logprob": -1.0}]}
    choice = {"index": 0, "text": "", "finish_reason": "length", "logprobs": told}
    return {"model": body["model"], "choices": [choice], "usage": {"prompt_tokens": len(tokens)}}


def _rerank(act: Act, body: Body) -> Body:
    words = set(body["query"].split())
    scores = [len(words & set(document.split())) - 1.5 for document in body["documents"]]
    best = sorted(range(len(scores)), key=lambda at: -scores[at])
    results = [{"index": at, "relevance_score": scores[at]} for at in best]
    return {"model": body["model"], "results": results, "usage": {"total_tokens": 9}}


TOKEN_WIRES = {
    "/v1/completions": _completions,
    "/v1/rerank": _rerank,
}
"""By path, as ``simulrag.testing.wires.WIRES`` has them."""
