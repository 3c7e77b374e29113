"""OpenAI's interfaces: Chat Completions, which all servers speak, Responses, and measured words.

Given words are measured by compatible servers: Completions repeat a plain text with its
log-probabilities (``echo``), ``/rerank`` says how well texts fit a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from pydantic import JsonValue

from simulrag.errors import ModelError, ModelUnavailable, NotOffered, ReplyRefused
from simulrag.models.base import Measure, Message, ProviderReply, Sampling
from simulrag.models.providers.base import measured_text
from simulrag.models.providers.faults import scrub, without_key
from simulrag.models.providers.wires import (
    count,
    cut_off,
    first_tokens,
    schema_title,
    strict_schema,
)
from simulrag.records import Usage


def chat_body(
    model: str,
    messages: Sequence[Message],
    schema: dict[str, JsonValue] | None,
    sampling: Sampling,
    *,
    sample_index: int,
    official: bool,
) -> dict[str, Any]:
    """Make the request of Chat Completions. What the sampling leaves open is not sent."""
    body = _common(model, sampling)
    body["messages"] = [item.model_dump() for item in messages]
    if sampling.reasoning_effort is not None:
        body["reasoning_effort"] = sampling.reasoning_effort
    if sampling.seed is not None:
        body["seed"] = sampling.seed + sample_index
    if sampling.max_output_tokens is not None:
        # OpenAI renamed the field; many compatible servers know only the old name.
        field = "max_completion_tokens" if official else "max_tokens"
        body[field] = sampling.max_output_tokens
    if sampling.top_logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": sampling.top_logprobs}
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": _format(schema)}
    return body


def responses_body(
    model: str,
    messages: Sequence[Message],
    schema: dict[str, JsonValue] | None,
    sampling: Sampling,
) -> dict[str, Any]:
    """Make the request of the Responses API; the provider is to keep no copy of the reply."""
    body = _common(model, sampling)
    body["input"] = [item.model_dump() for item in messages]
    body["store"] = False
    if sampling.reasoning_effort is not None:
        body["reasoning"] = {"effort": sampling.reasoning_effort}
    if sampling.max_output_tokens is not None:
        body["max_output_tokens"] = sampling.max_output_tokens
    if sampling.top_logprobs is not None:
        body |= {
            "include": ["message.output_text.logprobs"],
            "top_logprobs": sampling.top_logprobs,
        }
    if schema is not None:
        body["text"] = {"format": {"type": "json_schema", **_format(schema)}}
    return body


def chat_reply(response: Any, key: str, sampling: Sampling) -> ProviderReply:
    """Read a reply of Chat Completions. Raises ModelError (refused, truncated, unavailable)."""
    # The SDK does not validate what compatible servers send: any field may be missing.
    choices = getattr(response, "choices", None) or [None]
    usage = _usage(getattr(response, "usage", None), "prompt_tokens", "completion_tokens")
    message = getattr(choices[0], "message", None)
    if message is None:
        what = "the server's answer holds no choice; is it a Chat Completions server?"
        raise ModelUnavailable(what, usage=usage)
    finish = getattr(choices[0], "finish_reason", None)
    if getattr(message, "refusal", None):
        raise _refused(message.refusal, key, usage)
    if finish == "content_filter":
        raise _filtered(usage)
    if finish == "length":
        raise cut_off(sampling.max_output_tokens, usage)
    if not isinstance(message.content, str | None):
        raise TypeError("content is not text")
    logprobs = getattr(choices[0], "logprobs", None)
    return ProviderReply(
        text=without_key(message.content or "", key),
        usage=usage,
        model_version=_version(response, key),
        first_tokens=first_tokens(getattr(logprobs, "content", None), key),
    )


def responses_reply(response: Any, key: str, sampling: Sampling) -> ProviderReply:
    """Read the Responses API's reply. Raises ModelError (refused, truncated, unavailable)."""
    output = getattr(response, "output", None)
    usage = _usage(getattr(response, "usage", None), "input_tokens", "output_tokens")
    if not isinstance(output, list):
        raise ModelUnavailable(
            "the server's answer holds no output; does it speak the Responses API (else set "
            "api: chat)?",
            usage=usage,
        )
    status = getattr(response, "status", None)
    if status == "incomplete":
        reason = getattr(getattr(response, "incomplete_details", None), "reason", None)
        if reason == "content_filter":
            raise _filtered(usage)
        raise cut_off(sampling.max_output_tokens, usage)
    if status == "failed":
        why = getattr(getattr(response, "error", None), "message", "")
        raise ModelUnavailable(f"the provider failed: {scrub(str(why), key)}", usage=usage)
    parts = [
        part
        for item in output
        if getattr(item, "type", None) == "message"
        for part in (getattr(item, "content", None) or [])
    ]
    for part in parts:
        if getattr(part, "type", None) == "refusal":
            raise _refused(part.refusal, key, usage)
    texts = [part for part in parts if getattr(part, "type", None) == "output_text"]
    return ProviderReply(
        text=without_key("".join(part.text for part in texts), key),
        usage=usage,
        model_version=_version(response, key),
        first_tokens=first_tokens(getattr(texts[0], "logprobs", None), key) if texts else (),
    )


def _common(model: str, sampling: Sampling) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model}
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    return body


def _format(schema: dict[str, JsonValue]) -> dict[str, Any]:
    strict = strict_schema(schema)
    return {
        "name": schema_title(schema),
        "schema": schema if strict is None else strict,
        "strict": strict is not None,
    }


def _refused(reason: str, key: str, usage: Usage) -> ModelError:
    return ReplyRefused(f"the model refused: {scrub(str(reason), key)}", usage=usage)


def _filtered(usage: Usage) -> ModelError:
    return ReplyRefused("the provider's content filter stopped the reply", usage=usage)


def _version(response: Any, key: str) -> str:
    return scrub(str(getattr(response, "model", None) or ""), key)


def _usage(usage: Any, sent: str, written: str) -> Usage:
    if usage is None:
        return Usage(calls=1)
    details = getattr(usage, f"{sent}_details", None)
    return Usage(
        calls=1,
        input_tokens=count(usage, sent),
        output_tokens=count(usage, written),
        cached_input_tokens=count(details, "cached_tokens"),
    )


async def measured(
    client: Any, key: str, model: str, measure: Measure, messages: Sequence[Message]
) -> ProviderReply:
    """See Provider.measure. ``client``: OpenAI's, whose errors are its own."""
    reply, values = await (_likelihood if measure == "likelihood" else _rerank)(
        client, model, [item.content for item in messages]
    )
    return ProviderReply(
        text=without_key(measured_text(values), key),
        usage=Usage(calls=1, input_tokens=count(reply.get("usage"), "prompt_tokens")),
        model_version=scrub(str(reply.get("model", "")), key),
    )


async def _likelihood(client: Any, model: str, texts: Sequence[str]) -> tuple[Any, list[Any]]:
    prompt = "".join(f"{text}\n\n" for text in texts[:-1])
    body = {"model": model, "prompt": prompt + texts[-1], "echo": True, "logprobs": 1}
    body |= {"max_tokens": 1, "temperature": 0}
    reply = await client.post("/completions", cast_to=object, body=body)
    logprobs = reply["choices"][0].get("logprobs") or {}
    tokens = logprobs.get("tokens") or []
    return reply, _spelling(texts[-1], prompt, tokens, logprobs.get("token_logprobs"))


async def _rerank(client: Any, model: str, texts: Sequence[str]) -> tuple[Any, list[Any]]:
    import openai

    query, *documents = texts
    try:
        body = {"model": model, "query": query, "documents": documents}
        reply = await client.post("/rerank", cast_to=object, body=body)
    except openai.NotFoundError:
        raise NotOffered(f"{client.base_url} has no reranker '{model}' (rerank)") from None
    scores = {result["index"]: result["relevance_score"] for result in reply["results"]}
    return reply, [float(scores[at]) for at in range(len(documents))]


def _spelling(answer: str, prompt: str, tokens: Sequence[str], values: Any) -> list[Any]:
    """Return [token, log-probability] of the tokens that spell the answer; it begins with one."""
    starts = [0, *accumulate(map(len, tokens))]
    if not "".join(tokens).startswith(prompt + answer) or len(prompt) not in starts:
        raise NotOffered(
            "the server does not repeat a prompt with its log-probabilities (echo), token by token "
            "as it was sent: no likelihood of given words",
            usage=Usage(calls=1),
        )
    places = range(starts.index(len(prompt)), len(tokens))
    end = len(prompt) + len(answer)
    return [[tokens[at], round(values[at], 6)] for at in places if starts[at] < end]
