"""Given words measured by servers that speak OpenAI's interface and more: vLLM, SGLang and others.

vLLM scores the words of a chat (``prompt_logprobs``), by the model's own chat template; where a
server leaves that out, Completions repeat a plain text with its log-probabilities (``echo``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from simulrag.errors import NotOffered
from simulrag.models.base import Measure, Message, ProviderReply
from simulrag.models.providers.base import measured_text
from simulrag.records import Usage

_ONE_TOKEN = {"max_tokens": 1, "temperature": 0}
_SCORED = {"prompt_logprobs": 0, "add_generation_prompt": False, "continue_final_message": True}


async def measured(
    client: Any, model: str, measure: Measure, messages: Sequence[Message]
) -> ProviderReply:
    """See Provider.measure. ``client``: OpenAI's, whose errors are its own."""
    reply, found = await (_likelihood if measure == "likelihood" else _rerank)(
        client, model, messages
    )
    body = reply if isinstance(reply, dict) else {}
    used = (body.get("usage") or {}).get("prompt_tokens", 0)
    return ProviderReply(
        text=measured_text(found),
        usage=Usage(calls=1, input_tokens=used),
        model_version=str(body.get("model", "")),
    )


async def _likelihood(
    client: Any, model: str, messages: Sequence[Message]
) -> tuple[Any, list[Any]]:
    import openai

    chat = [item.model_dump() for item in messages]
    try:
        body = {"model": model, "messages": chat, **_ONE_TOKEN, **_SCORED}
        reply = await _post(client, "/chat/completions", body)
    except (openai.BadRequestError, openai.UnprocessableEntityError):
        reply = {}  # a field that the server does not know
    scored = reply.get("prompt_logprobs")
    if scored:
        body = {"model": model, "messages": chat[:-1], "add_generation_prompt": True}
        root = str(client.base_url).rstrip("/").removesuffix("/v1")
        prompt = (await _post(client, f"{root}/tokenize", body))["tokens"]
        return reply, _after(prompt, scored)
    prompt = "".join(f"{item.content}\n\n" for item in messages[:-1])
    body = {"model": model, "prompt": prompt + messages[-1].content, "echo": True, "logprobs": 1}
    reply = await _post(client, "/completions", body | _ONE_TOKEN)
    told = reply["choices"][0].get("logprobs") or {}
    return reply, _spelling(
        messages[-1].content, prompt, told.get("tokens") or [], told.get("token_logprobs")
    )


async def _rerank(client: Any, model: str, messages: Sequence[Message]) -> tuple[Any, list[Any]]:
    import openai

    query, *documents = [item.content for item in messages]
    try:
        body = {"model": model, "query": query, "documents": documents}
        reply = await _post(client, "/rerank", body)
    except openai.NotFoundError:
        raise NotOffered(f"{client.base_url} has no reranker '{model}' (rerank)") from None
    results = reply["results"] if isinstance(reply, dict) else reply  # SGLang: the list alone
    scores = {one["index"]: one.get("relevance_score", one.get("score")) for one in results}
    return reply, [float(scores[at]) for at in range(len(documents))]


async def _post(client: Any, path: str, body: dict[str, Any]) -> Any:
    return await client.post(path, cast_to=object, body=body)


def _after(prompt: Sequence[int], scored: Sequence[dict[str, Any] | None]) -> list[Any]:
    """[id, log-probability] of the tokens behind the prompt's own, which /tokenize told."""
    pairs = [next(iter(one.items())) if one else ("-1", {}) for one in scored]
    if [int(id) for id, _ in pairs[1 : len(prompt)]] != prompt[1:] or len(pairs) <= len(prompt):
        raise NotOffered("the prompt's tokens change when the answer follows: it cannot be cut off")
    return [[int(id), round(one["logprob"], 6)] for id, one in pairs[len(prompt) :]]


def _spelling(answer: str, prompt: str, tokens: Sequence[str], values: Any) -> list[Any]:
    """[token, log-probability] of the tokens that spell the answer, which begins with one."""
    starts = [0, *accumulate(map(len, tokens))]
    if not "".join(tokens).startswith(prompt + answer) or len(prompt) not in starts:
        raise NotOffered(
            "the server does not repeat a prompt with its log-probabilities (echo), token by token "
            "as it was sent: no likelihood of given words"
        )
    places = range(starts.index(len(prompt)), len(tokens))
    end = len(prompt) + len(answer)
    return [[tokens[at], round(values[at], 6)] for at in places if starts[at] < end]
