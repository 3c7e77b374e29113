"""What vLLM, SGLang and llama.cpp add to the loopback server: given words measured, reranking.

The model's name says which server it is. The toy model finds a word the more probable, the more
often it was shown before, and a document the better, the more of the query's words it has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from simulrag.testing.wires import WIRES, Act, Body

_CHAT = WIRES["/v1/chat/completions"]


def pieces(text: str) -> list[str]:
    """The toy tokenizer: words with the space before them."""
    return re.findall(r" ?[^\s]+|\s+", text)


def token_id(piece: str) -> int:
    return crc32(piece.encode()) % 50_000


def logprobs(tokens: Sequence[str]) -> list[float | None]:
    """Of each token after those before it; None for the first, as servers have it."""
    seen: dict[str, int] = {}
    found: list[float | None] = []
    for token in tokens:
        shown = seen.get(token.strip(), 0)
        found.append(math.log((shown + 0.1) / (shown + 1)) if found else None)
        seen[token.strip()] = shown + 1
    return found


def _templated(body: Body) -> list[str]:
    """The tokens of a chat, the roles' marks among them."""
    last = body["messages"][-1]
    tokens = []
    for message in body["messages"]:
        tokens += [f"<{message['role']}>", *pieces(message["content"])]
        if not (body.get("continue_final_message") and message is last):
            tokens.append("<end>")
    return [*tokens, "<assistant>"] if body.get("add_generation_prompt") else tokens


def _chat(act: Act, body: Body) -> Body:
    reply = _CHAT(act, body)
    if "prompt_logprobs" in body and body["model"].startswith("vllm"):
        tokens = _templated(body)
        if body["model"] == "vllm-merging":
            tokens = ["<all>", *tokens[2:]]
        reply["prompt_logprobs"] = [
            None
            if value is None
            else {str(token_id(token)): {"logprob": value, "rank": 1, "decoded_token": token}}
            for token, value in zip(tokens, logprobs(tokens), strict=True)
        ]
        reply["usage"] = {"prompt_tokens": len(tokens), "completion_tokens": 1}
    return reply


def _tokenize(act: Act, body: Body) -> Body:
    ids = [token_id(token) for token in _templated(body)]
    return {"tokens": ids, "count": len(ids), "max_model_len": 4096}


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


def _rerank(act: Act, body: Body) -> Any:
    words = set(body["query"].split())
    scores = [len(words & set(document.split())) - 1.5 for document in body["documents"]]
    best = sorted(range(len(scores)), key=lambda at: -scores[at])
    if body["model"] == "sglang":
        return [{"index": at, "score": scores[at], "document": ""} for at in best]
    results = [{"index": at, "relevance_score": scores[at]} for at in best]
    return {"model": body["model"], "results": results, "usage": {"total_tokens": 9}}


TOKEN_WIRES = {
    "/v1/chat/completions": _chat,
    "/v1/completions": _completions,
    "/v1/rerank": _rerank,
    "/tokenize": _tokenize,
}
"""By path, as ``simulrag.testing.wires.WIRES`` has them."""
